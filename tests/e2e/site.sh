#!/usr/bin/env bash
# Builds the site of docs/ and checks its links, below a path as GitHub Pages publishes it:
#
#   bash tests/e2e/site.sh            the links within the site and the repository, with anchors
#   bash tests/e2e/site.sh external   the links to other sites, which needs a network
#
# Also checks the links of the Markdown files of the repository, as GitHub shows them.
# shellcheck source=common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$root"

base=meshprobe
repository="$(sed -n 's/^git-repository-url = "\(.*\)"$/\1/p' book.toml)"
site="$work/published/$base"
bash site/build.sh "$site" >"$work/log" 2>&1 || fail_with "$work/log" "site/build.sh"
if grep -E 'WARN|ERROR' "$work/log"; then fail "mdbook prints warnings"; fi
grep -q "^site-url = \"/$base/\"$" book.toml || fail "book.toml has another site-url"
pages="$(find "$site" -name '*.html' | wc -l)"
pass "$((pages)) pages, $(du -sk "$site" | cut -f 1) KiB"

# Without a working tree, such as in an archive, all files are checked.
markdown() {
  git ls-files -z --cached --others --exclude-standard -- '*.md' 2>/dev/null || find . -name '*.md' -not -path './target/*' -print0
}
lychee_here() { lychee --no-progress --include-fragments --config /dev/null "$@" >"$work/log" 2>&1 || fail_with "$work/log" "broken links"; }

if [ "${1:-}" = external ]; then
  # Servers that refuse programs (403, 429) do not prove that a page is missing. Links into this repository work when
  # it is public; the other mode checks them as files.
  markdown | xargs -0 lychee --no-progress --config /dev/null --scheme https --include-fragments=false --max-retries 2 --timeout 30 \
    --accept '200..=206,403,429' --exclude "^$repository" --exclude '^https://meshprobe\.' --exclude 'example\.(com|org)' \
    >"$work/log" 2>&1 || fail_with "$work/log" "broken links to other sites"
  tail -n 3 "$work/log"
  exit 0
fi

# Links into the repository, among them those that edit a page, are checked as files.
lychee_here --offline --root-dir "$work/published" --remap "^$repository/(blob|tree|edit)/main/(.*)\$ file://$root/\$2" "$site"
tail -n 2 "$work/log"
pass "the links of the site resolve below /$base/"
checked="$(grep -oE '[0-9]+ OK' "$work/log" | cut -d ' ' -f 1)"
[ "$checked" -gt "$pages" ] || fail_with "$work/log" "only $checked links were checked"

# The plain text: llms.txt has the shape that llmstxt.org describes, and lists every page.
[ "$(sed -n '1p;3p' "$site/llms.txt" | cut -c 1-2)" = $'# \n> ' ] || fail_with "$site/llms.txt" "llms.txt starts differently"
lychee_here --offline --root-dir "$work/published" --remap "^$repository/(blob|tree|edit)/main/(.*)\$ file://$root/\$2" \
  "$site/llms.txt" "$site/rules/README.md" "$site/start/local.md"
listed="$(grep -c '^- \[' "$site/llms.txt")"
[ "$((listed + 1))" = "$(git ls-files --cached --others --exclude-standard 'docs/*.md' | grep -vc SUMMARY.md)" ] ||
  fail "llms.txt lists $listed pages"
pass "llms.txt: $listed pages, $(du -k "$site/llms-full.txt" | cut -f 1) KiB in llms-full.txt"

markdown >"$work/markdown"
xargs -0 lychee --no-progress --include-fragments --config /dev/null --offline <"$work/markdown" >"$work/log" 2>&1 ||
  fail_with "$work/log" "broken links in Markdown"
tail -n 2 "$work/log"
pass "the links of the Markdown files resolve"

# The check finds what is broken: an anchor, a page, and a file of the repository.
mkdir -p "$work/broken/$base"
cp "$site/index.html" "$work/broken/$base/"
printf '<a href="index.html#missing">a</a><a href="missing.html">b</a><a href="%s/blob/main/missing">c</a>\n' \
  "$repository" >"$work/broken/$base/broken.html"
if lychee --no-progress --include-fragments --config /dev/null --offline --root-dir "$work/broken" \
  --remap "^$repository/(blob|tree|edit)/main/(.*)\$ file://$root/\$2" "$work/broken/$base/broken.html" >"$work/log" 2>&1; then
  fail_with "$work/log" "broken links were not found"
fi
has "$work/log" '3 Errors'
pass "broken links are found"
