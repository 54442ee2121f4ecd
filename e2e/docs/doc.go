// Package docs walks the pages for people as somebody new would: every command runs in a clean folder, in the order of
// the page, and prints what the page says; every file is whole, and valid.
package docs
