package main

import (
	"math/rand"
	"strings"
)

var prefixes = []string{
	"", "/", "//", "///", "////", "./", "../", ":", ":/", "1a:", "+a:", "é:", "a:", "a:/", "a://", "a+b-c.1://", "http:",
	"http:/", "http://", "http:///", "HTTP://web.shop", "http://web.shop/", "https://web.shop:8443/", "//web/", "//web:80",
	"//web:80/", "//web:http/", "//web:/", "//a:b:1/", "http://a:b:1/", "a://a:b:1/", "//user@web/", "//user:pass@web/",
	"//us er@web/", "//u%zz@web/", "//u%41@web/", "//a@b@web/", "//é/", "//%41/", "//%c3%a9/", "//%25/", "//<web>/",
	"//we b/", "//we^b/", "//[::1]/", "//[::1]:80/", "//[::1]:a/", "//[::1", "//a[::1]/", "//[1.2.3.4]/", "//[web]/",
	"//[fe80::1%25en0]/", "//[fe80::1%25]/", "//[fe80::1%en0]/", "//[fe80::1%25a%20b]/", "//[fe80::1%25a%2fb]/",
	"//[::ffff:1.2.3.4]/",
}

var bodies = []string{
	"healthz", "", "a/b", "a//b", "a/../b", "a:b", "a/b:c", "*", "a b", "a\tb", "\u0001", "\u007f", "é", "\u00a0", "%", "%4",
	"%zz", "%41", "%2f", "%2F x", "%25", "%00", "%ff", "[x]", "!'()*", "$&+,;=@~", "\"<>\\^`{|}", "a%20b c", "a b%2fc",
}

var suffixes = []string{
	"", "?", "??", "?a=b", "?a=100%", "?a=%zz", "?a b", "?\u0001", "?\u007f", "?é", "?a?b", "?a/b:c", "?//h", "#", "#top", "#%",
	"#%41", "#\u0001", "#a#b", "?a#b", "#a?b", "?%#%", "%?a", "%#a",
}

// Returns the paths of the fixture: each body with the common prefixes and suffixes, and each prefix with the suffixes.
func tablePaths() []string {
	var found []string
	for _, prefix := range prefixes {
		for _, body := range bodies[:9] {
			found = append(found, prefix+body)
		}
		for _, suffix := range suffixes[:6] {
			found = append(found, prefix+suffix)
		}
	}
	for _, body := range bodies {
		for _, prefix := range []string{"", "/", "//", "a:", "http://web/"} {
			found = append(found, prefix+body)
		}
		for _, suffix := range suffixes {
			found = append(found, "/"+body+suffix)
		}
	}
	return unique(found)
}

// Returns random paths of the same parts, in which characters are inserted and removed.
func randomPaths(count int, random *rand.Rand) []string {
	characters := []rune("/:?#%@[]<>\"'()!*$&+,;=-._~^`{|}\\ \t\u0001\u007fé\u00a0azAZ0149")
	found := make([]string, 0, count)
	for range count {
		pick := func(texts []string) string { return texts[random.Intn(len(texts))] }
		text := []rune(pick(prefixes) + pick(bodies) + pick(suffixes))
		for range random.Intn(4) {
			at := random.Intn(len(text) + 1)
			if random.Intn(3) == 0 && at < len(text) {
				text = append(text[:at:at], text[at+1:]...)
				continue
			}
			inserted := characters[random.Intn(len(characters))]
			text = append(text[:at:at], append([]rune{inserted}, text[at:]...)...)
		}
		found = append(found, string(text))
	}
	return unique(found)
}

// Drops repeated paths, and the empty one, which the API server replaces by "/".
func unique(paths []string) []string {
	seen := map[string]bool{"": true}
	kept := paths[:0]
	for _, path := range paths {
		path = strings.ToValidUTF8(path, "")
		if !seen[path] {
			kept = append(kept, path)
		}
		seen[path] = true
	}
	return kept
}
