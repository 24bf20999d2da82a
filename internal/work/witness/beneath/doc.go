// Package beneath opens names below roots on ways without links.
package beneath
