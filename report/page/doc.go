// Package page writes a report as one HTML file that needs nothing else: styles and charts are inside, it runs no
// script and loads nothing. It shows what the report says and computes no result.
package page
