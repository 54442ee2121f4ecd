// Package load defines the native load block, NativeBlock, with the rules between its fields, and turns it into a
// measurement of a RunPlan. The block comes typed from whoever read the file. It opens no file, knows no catalogue and
// no matrix, and decides nothing about the deployment. The load tools of others are the packages below tool.
package load
