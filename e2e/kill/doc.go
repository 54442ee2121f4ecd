// Package kill ends processes of a run by force, fills disks and closes folders under it, and wants what is documented:
// nothing left running, nothing measured lost, one sentence, and a run that can be resumed.
package kill
