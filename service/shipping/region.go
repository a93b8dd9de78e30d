package shipping

import (
	"strings"

	"github.com/tidemall/tidemall/model"
)

// place is an address as the rules look at it.
type place struct {
	province, city string
	code           string // of the province, or of a part of it, without trailing pairs of zeros; empty for an unknown province
}

// placeOf trusts the province, since a parcel goes where it says: a region code of another province is ignored, and a missing one
// is made from the province. So leaving the code out, or sending that of another province, cannot choose a cheaper rule; nor can
// a province that nobody knows, which has no code at all. Within the province the code is believed, and so is a city's name: there is
// no table of cities here, beyond those that are provinces.
func placeOf(a model.OrderAddress) place {
	p := place{province: a.Province, city: a.City}
	known, ok := provinceCodes[short(a.Province)]
	if p.code = trimCode(a.RegionCode); !ok || !strings.HasPrefix(p.code, known) {
		p.code = known
	}
	return p
}

func (p place) levelOf(region string) int {
	if isCode(region) {
		if prefix := trimCode(region); len(prefix) >= 2 && strings.HasPrefix(p.code, prefix) {
			return len(prefix) / 2
		}
		return -1
	}
	switch {
	case sameName(region, p.city) && !p.outside(region):
		return 2
	case sameName(region, p.province):
		return 1
	}
	return -1
}

// outside says that the region is a province and not that of the place. Municipalities are cities of their own, so an address may
// name one as the city of another province (上海市 in 新疆); the parcel still goes to that other province.
func (p place) outside(region string) bool {
	name := short(region)
	_, province := provinceCodes[name]
	return province && name != short(p.province)
}

// sameName compares names of provinces or cities, each with or without its suffix: 广东 is 广东省, but 吉林省 is not 吉林市.
func sameName(a, b string) bool {
	return a == b || a == short(b) || short(a) == b
}

// Longer suffixes come before those they end with.
var suffixes = []string{"特别行政区", "维吾尔自治区", "壮族自治区", "回族自治区", "自治区", "省", "市", "地区"}

func short(name string) string {
	for _, s := range suffixes {
		if rest, ok := strings.CutSuffix(name, s); ok && rest != "" {
			return rest
		}
	}
	return name
}

func isCode(region string) bool {
	return region != "" && strings.Trim(region, "0123456789") == ""
}

// trimCode drops trailing pairs of zeros: 440000 names the province 44, 440300 the city 4403 (GB/T 2260).
func trimCode(code string) string {
	if !isCode(code) {
		return ""
	}
	for len(code) > 2 && len(code)%2 == 0 && strings.HasSuffix(code, "00") {
		code = code[:len(code)-2]
	}
	return code
}

// provinceCodes are the first two digits of GB/T 2260 by the province's short name.
var provinceCodes = map[string]string{
	"北京": "11", "天津": "12", "河北": "13", "山西": "14", "内蒙古": "15",
	"辽宁": "21", "吉林": "22", "黑龙江": "23",
	"上海": "31", "江苏": "32", "浙江": "33", "安徽": "34", "福建": "35", "江西": "36", "山东": "37",
	"河南": "41", "湖北": "42", "湖南": "43", "广东": "44", "广西": "45", "海南": "46",
	"重庆": "50", "四川": "51", "贵州": "52", "云南": "53", "西藏": "54",
	"陕西": "61", "甘肃": "62", "青海": "63", "宁夏": "64", "新疆": "65",
	"台湾": "71", "香港": "81", "澳门": "82",
}
