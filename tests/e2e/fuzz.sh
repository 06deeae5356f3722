#!/usr/bin/env bash
# Every fuzz target for a few seconds, from seeds made of the fixtures (docs/fuzzing.md).
#
#   bash tests/e2e/fuzz.sh [TARGET...]                     the same inputs on every machine
#   FUZZ_SECONDS=600 bash tests/e2e/fuzz.sh [TARGET...]    as many as there is time for, new ones
#
#   FUZZ_SANITIZER=address bash tests/e2e/fuzz.sh          with AddressSanitizer
#
# Needs a C++ compiler for libFuzzer, and with a sanitizer a nightly toolchain (FUZZ_TOOLCHAIN,
# default: nightly) that has it. Where one is missing, CI fails and a laptop skips. Without one the
# pinned toolchain does: coverage takes no unstable flag, and the package has no unsafe code.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

cd "$root"
host="$(rustc -vV | sed -n 's/^host: //p')"
seconds="${FUZZ_SECONDS:-210}"
# A gate must not turn red by chance: it tries the same inputs each time. New ones are for longer runs.
limits=()
[ -n "${FUZZ_SECONDS:-}" ] || limits=(-seed=1 -runs=4000)
targets=("$@")
[ "$#" -gt 0 ] || targets=(parse yaml_diff edit krm probers config check)

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

# What cargo-fuzz builds with; it need not be installed.
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4'
flags+=' -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
flags+=' -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cforce-frame-pointers'
[ -z "$sanitizer" ] || flags+=" -Zsanitizer=$sanitizer"
built="$root/fuzz/target/${sanitizer:-plain}"
log="$work/build.log"
RUSTFLAGS="$flags" "${cargo[@]}" build --release --target "$host" --target-dir "$built" \
  --manifest-path "$root/fuzz/Cargo.toml" >"$log" 2>&1 || fail_with "$log" 'the fuzz targets do not build'
pass 'the fuzz targets build'

bash "$root/fuzz/seed.sh" "$work/seeds" >"$work/seeds.log" || fail_with "$work/seeds.log" 'no seeds'
each=$((seconds / ${#targets[@]}))
[ "$each" -gt 0 ] || fail "FUZZ_SECONDS=$seconds is too little for ${#targets[@]} targets"

# Few seeds for a short run: reading them all would take most of it. Those that were findings and
# the edits' fixtures always; of the rest, small ones from everywhere.
chosen() {
  local step=$((2400 / each))
  find "$work/seeds/$1" -type f -size -2500c | LC_ALL=C sort |
    awk -v step="$step" '/\/hostile-|\/yaml_edits_|\/seed-|\/value-/ || NR % step == 0'
}

found="$root/fuzz/artifacts"
for target in "${targets[@]}"; do
  corpus="$work/corpus/$target"
  mkdir -p "$corpus" "$found/$target"
  chosen "$target" | while IFS= read -r seed; do cp "$seed" "$corpus"; done
  log="$work/$target.log"
  ASAN_OPTIONS=detect_leaks=0 "$built/$host/release/$target" "-max_total_time=$each" "${limits[@]}" -timeout=20 \
    -rss_limit_mb=3000 -max_len=6000 -print_final_stats=1 "-dict=$root/fuzz/yaml.dict" \
    "-artifact_prefix=$found/$target/" "$corpus" >"$log" 2>&1 || {
    printf 'replay: FUZZ_TARGET=%s FUZZ_INPUT=FILE cargo test --test it by_its_name\n' "$target" >&2
    tail -n 40 "$log" >"$work/end.log"
    fail_with "$work/end.log" "the target $target found something: see fuzz/artifacts/$target"
  }
  runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  [ "${runs:-0}" -gt 20 ] || fail_with "$log" "the target $target has hardly run: ${runs:-0} inputs"
  pass "$target: $runs inputs"
done
