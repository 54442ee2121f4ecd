// Package apitest is a small API server for tests, over real HTTP: objects of the kinds it is told of, in memory, with
// discovery, versions, selectors, finalizers, patches, dry runs, watches, access reviews, and logs and proxies of
// pods. It runs no controller: a test plays them. It checks no object, and it must not be used by anything but tests.
package apitest
