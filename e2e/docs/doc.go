// Package docs follows the documentation as a new user would: every command runs in an empty folder, in the order of
// the page, and prints what the page shows; every file is complete and valid.
package docs
