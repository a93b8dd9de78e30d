package router

import (
	"net/http"
	"time"

	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/job"
)

// fileLimit is the file of a job and what the form puts around it.
const (
	fileLimit   = job.MaxBytes + 64<<10
	fileTimeout = time.Minute
)

func adminJobs(g *group, j *admin.Jobs) {
	start := func(summary, description string, kind model.JobKind) doc {
		d := doc{Summary: summary, Description: description, Status: http.StatusAccepted, Codes: []fault.Code{fault.StateConflict}}
		if !kind.Exports() {
			d.BodyLimit, d.BodyTimeout = fileLimit, fileTimeout
		}
		return d
	}
	needs := func(kind model.JobKind) access { return merchant(job.PermissionOf(kind)) }
	route(g, "POST", "/jobs/ship-batch", needs(model.JobShipBatch), j.ShipBatch, start("Ship the orders of a file",
		"CSV in UTF-8 with the columns order_no, carrier (code or name) and tracking_no, or their Chinese names, one order a line. Each line is shipped as the "+
			"ship operation would, all that is left of the order in one parcel, in a transaction of its own.", model.JobShipBatch))
	route(g, "POST", "/jobs/product-import", needs(model.JobProductImport), j.ImportProducts, start("Make and change products by a file",
		"CSV in UTF-8, a line for each SKU; lines with the same code, or the same id, are one product. A product that is there already becomes what the file "+
			"says, so that the same file again changes nothing. The columns are those of an export.", model.JobProductImport))
	route(g, "POST", "/jobs/product-export", needs(model.JobProductExport), j.ExportProducts, start("Write products into a file",
		"The filter is the list's. An import reads the file.", model.JobProductExport))
	route(g, "POST", "/jobs/order-export", needs(model.JobOrderExport), j.ExportOrders, start("Write orders into a file",
		"The filter is the list's. Newest first, an order a line; phones are masked.", model.JobOrderExport))
	const which = "Jobs of the kinds that the caller may start; the platform also sees those of no merchant."
	anyKind := merchant(account.Permission(""))
	route(g, "GET", "/jobs", anyKind, j.List, doc{Summary: "List jobs with their progress", Description: "Newest first. " + which + " A job is kept for 30 days after its end."})
	route(g, "GET", "/jobs/{id}", anyKind, j.Get, doc{Summary: "Get a job with its progress", Description: which})
	route(g, "GET", "/jobs/{id}/rows", anyKind, j.Rows, doc{Summary: "List the results of a job's rows", Description: "In the order of the file. An export has none. " + which})
	route(g, "GET", "/jobs/{id}/result", anyKind, j.Result, doc{
		Summary: "Download a job's results, or the file of an export", Codes: []fault.Code{fault.StateConflict},
		Description: "CSV in UTF-8. The results so far, those that failed first; an export once it is done. " + which,
	})
	route(g, "POST", "/jobs/{id}/cancel", anyKind, j.Cancel, doc{
		Summary: "Cancel a job", Description: "It ends between two rows; what it did stays. " + which, Codes: []fault.Code{fault.StateConflict},
	})
}
