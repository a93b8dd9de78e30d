package wechat

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core/consts"
)

// BillLimit is how long the file of a bill may take to come.
const BillLimit = 12 * time.Second

// BillType says what a bill lists.
type BillType string

// The types of bills.
const (
	BillAll     BillType = "ALL"     // payments and refunds of the day
	BillSuccess BillType = "SUCCESS" // payments
	BillRefund  BillType = "REFUND"  // refunds
)

// Bill is the verified file of one day's bill, on the disk and without a name there, so that nothing of it outlives the
// process. It must be closed.
type Bill struct {
	Hash string // as WeChat announced it, in lower case: equal files have equal hashes
	file *os.File
}

// Close frees the file.
func (b *Bill) Close() error { return dropFile(b.file) }

// TradeBill fetches the bill of a day in China's time; only the date of day counts. It is ready from ten o'clock of the
// next day and kept three months. KindNoBill: nothing happened on the day. KindBusy: WeChat is still making it, try in
// half an hour. A file that does not have the announced hash is KindUnknown, and nothing of it is returned.
func (c *Client) TradeBill(ctx context.Context, day time.Time, kind BillType) (*Bill, error) {
	const op = "trade bill"
	query := url.Values{"bill_date": {day.Format(time.DateOnly)}, "bill_type": {string(kind)}, "tar_type": {"GZIP"}}
	var where struct {
		HashType    string `json:"hash_type"`
		HashValue   string `json:"hash_value"`
		DownloadURL string `json:"download_url"`
	}
	err := c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		result, err := c.pay.Get(ctx, consts.WechatPayAPIServer+"/v3/bill/tradebill?"+query.Encode())
		if err := settled(result, err, http.StatusOK); err != nil {
			return err
		}
		return json.NewDecoder(result.Response.Body).Decode(&where)
	})
	if err != nil {
		return nil, err
	}
	if where.HashType != "SHA1" || where.HashValue == "" {
		return nil, &Error{Op: op, Kind: KindRejected, Status: http.StatusOK, Message: "the bill is announced without a SHA1 hash"}
	}
	bill := &Bill{Hash: strings.ToLower(where.HashValue)}
	err = c.callWithin(ctx, BillLimit, c.payBreaker, op, func(ctx context.Context) (err error) {
		bill.file, err = c.downloadBill(ctx, where.DownloadURL, bill.Hash)
		return err
	})
	if err != nil {
		return nil, err
	}
	return bill, nil
}

// downloadBill fetches the file. The request is signed and the reply is not; the hash from the signed reply before
// vouches for it.
func (c *Client) downloadBill(ctx context.Context, address, announced string) (file *os.File, err error) {
	result, err := c.bill.Get(ctx, address)
	if result != nil && result.Response != nil {
		defer result.Response.Body.Close()
	}
	if err := settled(result, err, http.StatusOK); err != nil {
		return nil, err
	}
	if file, err = os.CreateTemp("", "tidemall-bill-"); err != nil {
		return nil, unknown(0, "no temporary file can be made for the bill")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dropFile(file))
			file = nil
		}
	}()
	_ = os.Remove(file.Name()) // while it is open it needs no name; where a system wants one, Close removes it
	hashes, err := unpackBill(result.Response.Body, file)
	if err != nil {
		return file, err
	}
	if announced != hashes[0] && announced != hashes[1] {
		return file, unknown(http.StatusOK, "the bill does not have the hash that was announced")
	}
	return file, nil
}

// unpackBill writes the bill to the file, unpacked, and returns the hashes of what it wrote and of what came. WeChat's
// pages say that the hash is of the unpacked bill; one of the packed file would vouch for it as well.
func unpackBill(body io.Reader, file *os.File) (hashes [2]string, err error) {
	unpacked, packed := sha1.New(), sha1.New()
	came := bufio.NewReader(io.TeeReader(io.LimitReader(body, maxBill+1), packed))
	var plain io.Reader = came
	if magic, _ := came.Peek(2); string(magic) == "\x1f\x8b" {
		unzip, err := gzip.NewReader(came)
		if err != nil {
			return hashes, unknown(http.StatusOK, "the bill cannot be unpacked")
		}
		plain = unzip
	}
	n, err := io.Copy(io.MultiWriter(file, unpacked), io.LimitReader(plain, maxBill+1))
	if err != nil {
		return hashes, err
	}
	if n > maxBill {
		return hashes, errLongReply
	}
	if _, err := io.Copy(io.Discard, came); err != nil { // what is behind the packed data counts for its hash
		return hashes, err
	}
	for i, h := range []hash.Hash{unpacked, packed} {
		hashes[i] = hex.EncodeToString(h.Sum(nil))
	}
	return hashes, nil
}

// dropFile closes a temporary file and removes it where it still has a name.
func dropFile(f *os.File) error {
	err := f.Close()
	if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("the temporary file of a bill: %w", errors.New(describe(err)))
	}
	return nil
}
