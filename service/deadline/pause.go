package deadline

import "time"

// Pause returns how long to wait before WeChat, say, is called again about something that has been waiting for so long: each of the
// pauses in its turn, and the last one again and again. How long it has waited decides, not how often it was called: while nobody
// answers there are many calls in a short time, and the answer behind them may be the first one.
func Pause(waited time.Duration, pauses []time.Duration) time.Duration {
	for _, pause := range pauses {
		if waited < pause {
			return pause
		}
		waited -= pause
	}
	return pauses[len(pauses)-1]
}
