#!/usr/bin/env bash
# Runs the fuzz targets, with seeds from the fixtures (docs/fuzzing.md). Several run at a time, one per core.
#
#   bash fuzz/run.sh [TARGET...]                     4,000 inputs per target, the same on every machine
#   FUZZ_SECONDS=600 bash fuzz/run.sh [TARGET...]    as many new inputs as fit in that time, for all targets together
#   FUZZ_SANITIZER=address bash fuzz/run.sh          with AddressSanitizer
#
# Prints the figures of each target, and fails if a target found a bug, or ran too few inputs.
#
# Requires a C++ compiler for libFuzzer, and with a sanitizer a nightly toolchain (FUZZ_TOOLCHAIN, default:
# nightly) that contains it. If one is missing, CI fails and other machines skip the run. Without a sanitizer the
# pinned toolchain is enough: coverage needs no unstable flag, and the package has no unsafe code.
# shellcheck source=../tests/e2e/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/common.bash"

cd "$root"
host="$(rustc -vV | sed -n 's/^host: //p')"
targets=("$@")
[ "$#" -gt 0 ] || targets=(parse yaml_diff edit krm probers config check)
cores="$(getconf _NPROCESSORS_ONLN)"

if [ -n "${FUZZ_SECONDS:-}" ]; then
  limit=$((FUZZ_SECONDS * cores / ${#targets[@]}))
  [ "$limit" -gt 0 ] || fail "FUZZ_SECONDS=$FUZZ_SECONDS is too little for ${#targets[@]} targets"
  limits=("-max_total_time=$limit")
  seed_step=$((limit > 2400 ? 1 : 2400 / limit))
else
  limits=(-seed=1 -runs=4000)
  seed_step=80
fi

missing() {
  if [ -n "${CI:-}" ]; then
    fail "$1"
  fi
  printf 'skip %s\n' "$1"
  exit 0
}

command -v c++ >/dev/null || missing 'fuzzing needs a C++ compiler, which libFuzzer is built with'
cargo=(cargo)
sanitizer="${FUZZ_SANITIZER:-}"
if [ -n "$sanitizer" ]; then
  toolchain="${FUZZ_TOOLCHAIN:-nightly}"
  cargo+=("+$toolchain")
  "${cargo[@]}" --version >/dev/null 2>&1 ||
    missing "a sanitizer needs a nightly toolchain: rustup toolchain install $toolchain"
  runtime="$(rustc "+$toolchain" --print target-libdir)"
  compgen -G "$runtime/librustc*_rt.*" >/dev/null ||
    missing "the toolchain $toolchain has no sanitizers for $host"
fi

# The flags that cargo-fuzz sets. It does not have to be installed.
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4'
flags+=' -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
flags+=' -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cforce-frame-pointers'
[ -z "$sanitizer" ] || flags+=" -Zsanitizer=$sanitizer"
built="$root/fuzz/target/${sanitizer:-plain}"
log="$work/build.log"
RUSTFLAGS="$flags" "${cargo[@]}" build --release --locked --target "$host" --target-dir "$built" \
  --manifest-path "$root/fuzz/Cargo.toml" >"$log" 2>&1 || fail_with "$log" 'the fuzz targets do not build'
pass 'the fuzz targets build'

bash "$root/fuzz/seed.sh" "$work/seeds" >"$work/seeds.log" || fail_with "$work/seeds.log" 'no seeds'

# Selects few seeds for a short run, because reading all of them would take most of it: the regression
# inputs, the fixtures of edits, and small seeds from every part.
chosen() {
  find "$work/seeds/$1" -type f -size -2500c | LC_ALL=C sort |
    awk -v step="$seed_step" '/\/hostile-|\/yaml_edits_|\/seed-|\/value-/ || NR % step == 0'
}

artifacts="$root/fuzz/artifacts"

# fuzz TARGET: writes the log of the run and its status.
fuzz() {
  local target="$1" corpus="$work/corpus/$1" status=0
  mkdir -p "$corpus" "$artifacts/$target"
  chosen "$target" | while IFS= read -r seed; do cp "$seed" "$corpus"; done
  ASAN_OPTIONS=detect_leaks=0 "$built/$host/release/$target" "${limits[@]}" -timeout=20 -rss_limit_mb=3000 \
    -max_len=6000 -print_final_stats=1 "-dict=$root/fuzz/yaml.dict" "-artifact_prefix=$artifacts/$target/" "$corpus" \
    >"$work/$target.log" 2>&1 || status=$?
  printf '%s\n' "$status" >"$work/$target.status"
}

# Prints the figures of a target, and the last output of a failed run.
report() {
  local target="$1" status runs seconds findings
  status="$(cat "$work/$target.status" 2>/dev/null || printf 'none')"
  runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log")"
  seconds="$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$work/$target.log")"
  findings="$(find "$artifacts/$target" -type f -newer "$work/start" | wc -l)"
  printf '%-10s %10s %8s %9s\n' "$target" "${runs:--}" "${seconds:--}" "$findings"
  [ "$status" != 0 ] || [ "${runs:-0}" -le 20 ] || return 0
  failed+=("$target")
  tail -n 40 "$work/$target.log" | sed 's/^/    | /'
  printf 'replay: FUZZ_TARGET=%s FUZZ_INPUT=FILE cargo test --test it by_its_name   (fuzz/artifacts/%s)\n' "$target" "$target"
}

touch "$work/start"
for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n || true; done
  fuzz "$target" &
done
wait

failed=()
printf '%-10s %10s %8s %9s\n' target inputs seconds findings
for target in "${targets[@]}"; do report "$target"; done
[ "${#failed[@]}" = 0 ] || fail "targets that found something or hardly ran: ${failed[*]}"
