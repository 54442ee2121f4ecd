package report

// FileSearch holds what a search found, and every level it tried; it lies in measurements/<n>/ where the plan has one.
const FileSearch = "search.json"
