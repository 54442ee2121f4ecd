// Package page writes a report as one self-contained HTML file: styles and charts are inline, and it runs no script
// and loads nothing. It shows the report and computes no results.
package page
