// Package bootstrap installs what runs need on a cluster (Tekton, Kueue, and bflow itself), compares an installation
// with what it should be, upgrades it, and removes it. It must not know experiments, nor do more with runs than end
// them.
//
// What can be installed is a list of components (package component). Each says what it is called, detects what is on
// the cluster, and renders objects; render collects them into parts, one per component and one per target. A part is
// installed, compared and removed as a whole, by the same code for all:
//
//   - Install claims the objects in the inventory, writes them phase by phase, waits until they work, and prunes what
//     an earlier installation had in addition. DryRun and Export do the same without writing.
//   - Status renders the same parts, compares them with the cluster by dry runs, and asks each object whether it works.
//   - Uninstall needs no rendering: it deletes what the inventory lists, part by part, the last installed first.
//   - AddNamespace and AddTarget install what the parts have with the namespace or target and not without it.
//
// The inventory (a ConfigMap) is written before the objects, so that a call that was cut off can be repeated. It also
// keeps the options, with the settings of components, for later calls.
package bootstrap
