package timeout

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/sony/gobreaker/v2"
)

// isOutage tells errors of the surroundings from errors of a task.
func (e *Engine) isOutage(err error) bool {
	for _, target := range []error{
		context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone,
		io.ErrUnexpectedEOF, net.ErrClosed, gobreaker.ErrOpenState, gobreaker.ErrTooManyRequests,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) || e.o.IsOutage != nil && err != nil && e.o.IsOutage(err)
}
