package job

import (
	"errors"
	"regexp"
	"strings"

	"github.com/tidemall/tidemall/service/fault"
)

// maxText is how many characters of what went wrong are kept of a row.
const maxText = 1000

// fieldWords are what people call the fields that an error of a row names: the columns of the files, and fields of what they become.
var fieldWords = func() map[string]string {
	words := map[string]string{
		"category_id": "分类", "delivery": "配送方式", "file": "文件", "image": "图片", "lines": "订单行", "options": "规格项", "parcels": "包裹",
		"price_fen": "价格", "quantity": "数量", "skus": "规格", "specs": "规格", "url": "图片", "values": "规格值",
	}
	for _, columns := range [][]column{shipColumns, productColumns} {
		for _, c := range columns {
			words[c.en] = c.zh
		}
	}
	return words
}()

// lastField is the end of a field's path, without its index.
var lastField = regexp.MustCompile(`([a-z_]+[0-9]*)(\[[0-9]+\])?$`)

// describe says what went wrong in both languages: fields by the words that people know, their names in the API behind.
func describe(err error) (zh, en string) {
	var f *fault.Error
	if !errors.As(err, &f) {
		t := fault.Lookup(fault.InternalError).Text
		return t.ZH, t.EN
	}
	text := f.Detail
	if text.EN == "" && len(f.Fields) == 0 {
		text = fault.Lookup(f.Code).Text
	}
	var zhs, ens []string
	if text.EN != "" {
		zhs, ens = append(zhs, text.ZH), append(ens, text.EN)
	}
	for _, field := range f.Fields {
		m := field.Message
		if m.EN == "" {
			m = fault.Lookup(field.Code).Text
		}
		zh, en := "", ""
		if name := lastField.FindStringSubmatch(field.Field); name != nil {
			zh, en = fieldWords[name[1]], strings.ReplaceAll(name[1], "_", " ")
		}
		zhs = append(zhs, named(zh, "：", m.ZH)+"（"+field.Field+"）")
		ens = append(ens, named(en, ": ", m.EN)+" ("+field.Field+")")
	}
	return shorten(strings.Join(zhs, "；"), maxText), shorten(strings.Join(ens, "; "), maxText)
}

// named puts the name of a field before a text that does not say it.
func named(name, mark, text string) string {
	if strings.Contains(text, name) {
		return text
	}
	return name + mark + text
}
