package shipping

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

var (
	guangzhou = model.OrderAddress{Province: "广东省", City: "广州市", District: "天河区", RegionCode: "440106"}
	shenzhen  = model.OrderAddress{Province: "广东省", City: "深圳市", District: "南山区", RegionCode: "440305"}
	urumqi    = model.OrderAddress{Province: "新疆维吾尔自治区", City: "乌鲁木齐市", RegionCode: "650102"}
	jilinCity = model.OrderAddress{Province: "吉林省", City: "吉林市"}
	changchun = model.OrderAddress{Province: "吉林省", City: "长春市"}
)

// freightOf is the freight of goods of that price.
func freightOf(rules []model.FreightRule, a model.OrderAddress, pieces, weightG int64, goods model.Fen) (model.Fen, error) {
	freight, err := Freight(rules, a, pieces, weightG)
	if err != nil {
		return 0, err
	}
	return freight(goods), nil
}

func flat(id int64, sort int, fen model.Fen, regions ...string) model.FreightRule {
	return model.FreightRule{ID: id, Kind: model.FreightPiece, Regions: regions, Sort: sort, FirstUnits: 1, FirstFen: fen}
}

func TestFreightChoosesTheMostSpecificRegion(t *testing.T) {
	rules := []model.FreightRule{
		flat(1, 0, 1), flat(2, 0, 100, "广东"), flat(3, 9, 200, "深圳市"), flat(4, 9, 300, "440305"),
		flat(5, 1, 400, "65"), flat(6, 0, 500, "650000"), flat(7, 0, 600, "吉林省"), flat(8, 0, 700, "吉林市"),
	}
	noCode := func(a model.OrderAddress) model.OrderAddress { a.RegionCode = ""; return a }
	for name, c := range map[string]struct {
		to   model.OrderAddress
		want model.Fen
	}{
		"everywhere else":                      {model.OrderAddress{Province: "海南省", City: "海口市"}, 1},
		"province by its short name":           {guangzhou, 100},
		"city before province":                 {noCode(shenzhen), 200},
		"district by code before city":         {shenzhen, 300},
		"equal regions: the lower sort":        {urumqi, 500},
		"no code: taken from the province":     {noCode(urumqi), 500},
		"a city that is named like a province": {jilinCity, 700},
		"another city of that province":        {changchun, 600},
		"a code of another province does not choose a cheaper rule": {
			model.OrderAddress{Province: "新疆维吾尔自治区", City: "乌鲁木齐市", RegionCode: "440305"}, 500,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := freightOf(rules, c.to, 1, 0, 0)
			if err != nil || got != c.want {
				t.Errorf("freight = %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

// Neither a city that is a province of its own, nor a region code, takes a parcel out of the province that the address names.
func TestFreightOfAnAddressThatContradictsItself(t *testing.T) {
	rules := []model.FreightRule{flat(1, 9, 3000), flat(2, 0, 0, "上海市"), flat(3, 0, 1800, "新疆"), flat(4, 0, 0, "吉林"), flat(5, 0, 0, "广东")}
	byCode := []model.FreightRule{flat(1, 9, 3000), flat(2, 0, 0, "310000"), flat(3, 0, 1800, "65")}
	for name, c := range map[string]struct {
		rules []model.FreightRule
		to    model.OrderAddress
		want  model.Fen
	}{
		"a municipality as a city elsewhere":     {rules, model.OrderAddress{Province: "新疆维吾尔自治区", City: "上海市"}, 1800},
		"the same without its suffix":            {rules, model.OrderAddress{Province: "新疆", City: "上海"}, 1800},
		"the same with its suffix twice":         {rules, model.OrderAddress{Province: "新疆维吾尔自治区", City: "上海市市"}, 1800},
		"a province as a city elsewhere":         {rules, model.OrderAddress{Province: "新疆维吾尔自治区", City: "广东省"}, 1800},
		"a city named like a province elsewhere": {rules, model.OrderAddress{Province: "新疆维吾尔自治区", City: "吉林市"}, 1800},
		"a municipality in an unknown province":  {rules, model.OrderAddress{Province: "新疆维吾尔族自治区", City: "上海市"}, 3000},
		"the code of another province":           {byCode, model.OrderAddress{Province: "新疆维吾尔自治区", City: "上海市", RegionCode: "310000"}, 1800},
		"the code beside an unknown province":    {byCode, model.OrderAddress{Province: "新疆维吾尔族自治区", City: "上海市", RegionCode: "310000"}, 3000},
		"a municipality":                         {rules, model.OrderAddress{Province: "上海市", City: "上海市"}, 0},
		"a municipality by its short name":       {rules, model.OrderAddress{Province: "上海", City: "上海市"}, 0},
		"a municipality by its code":             {byCode, model.OrderAddress{Province: "上海", City: "上海市", RegionCode: "310101"}, 0},
		"a city named like its province":         {rules, jilinCity, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := freightOf(c.rules, c.to, 1, 0, 0)
			if err != nil || got != c.want {
				t.Errorf("freight = %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

func TestFreightEqualRulesTakeTheLowerID(t *testing.T) {
	for _, rules := range [][]model.FreightRule{{flat(1, 5, 100), flat(2, 5, 200)}, {flat(2, 5, 200), flat(1, 5, 100)}} {
		if got, err := freightOf(rules, guangzhou, 1, 0, 0); err != nil || got != 100 {
			t.Errorf("freight = %d (%v), want 100", got, err)
		}
	}
}

func TestFreightWithoutARule(t *testing.T) {
	if got, err := freightOf(nil, guangzhou, 3, 500, 100); err != nil || got != 0 {
		t.Errorf("no rules: %d (%v), want free", got, err)
	}
	if _, err := freightOf([]model.FreightRule{flat(1, 0, 100, "新疆")}, guangzhou, 1, 0, 0); !fault.Is(err, fault.NoDelivery) {
		t.Errorf("no rule fits: %v, want no_delivery", err)
	}
	if got, err := freightOf([]model.FreightRule{flat(1, 0, 100, "新疆")}, guangzhou, 0, 0, 0); err != nil || got != 0 {
		t.Errorf("nothing to deliver: %d (%v), want free", got, err)
	}
}

func TestFreightCountsUnits(t *testing.T) {
	piece := model.FreightRule{Kind: model.FreightPiece, FirstUnits: 2, FirstFen: 800, StepUnits: 3, StepFen: 200, FreeOverFen: 9900}
	weight := piece
	weight.Kind, weight.FirstUnits, weight.StepUnits = model.FreightWeight, 1000, 500
	for name, c := range map[string]struct {
		rule           model.FreightRule
		pieces, weight int64
		goods, want    model.Fen
	}{
		"within the first":            {piece, 2, 99999, 0, 800},
		"a step begun counts":         {piece, 3, 0, 0, 1000},
		"a whole step":                {piece, 5, 0, 0, 1000},
		"a second step begun":         {piece, 6, 0, 0, 1200},
		"by weight, within the first": {weight, 50, 1000, 0, 800},
		"by weight, one gram more":    {weight, 1, 1001, 0, 1000},
		"without a weight":            {weight, 1, 0, 0, 800},
		"a fen below free":            {piece, 3, 0, 9899, 1000},
		"free":                        {piece, 3, 0, 9900, 0},
		"never above the maximum":     {model.FreightRule{Kind: model.FreightWeight, FirstUnits: 1, StepUnits: 1, StepFen: model.MaxFen}, 1, 1 << 50, 0, model.MaxFen},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := freightOf([]model.FreightRule{c.rule}, guangzhou, c.pieces, c.weight, c.goods)
			if err != nil || got != c.want {
				t.Errorf("freight = %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

// Whatever the rule and the goods, freight is within bounds and more goods to carry never cost less.
func TestT61_FreightIsNeverNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fen := rapid.Int64Range(0, int64(model.MaxFen))
		rule := model.FreightRule{
			Kind:       rapid.SampledFrom([]model.FreightKind{model.FreightPiece, model.FreightWeight}).Draw(t, "kind"),
			FirstUnits: rapid.Int64Range(1, 1_000_000).Draw(t, "first units"), FirstFen: model.Fen(fen.Draw(t, "first")),
			StepUnits: rapid.Int64Range(0, 1_000_000).Draw(t, "step units"), StepFen: model.Fen(fen.Draw(t, "step")),
		}
		units := rapid.Int64Range(1, 1<<50)
		a, b := units.Draw(t, "a"), units.Draw(t, "b")
		less, err := freightOf([]model.FreightRule{rule}, guangzhou, min(a, b), min(a, b), 0)
		if err != nil {
			t.Fatal(err)
		}
		more, err := freightOf([]model.FreightRule{rule}, guangzhou, max(a, b), max(a, b), 0)
		if err != nil {
			t.Fatal(err)
		}
		if less < 0 || less > more || more > model.MaxFen {
			t.Fatalf("%d units cost %d, %d cost %d", min(a, b), less, max(a, b), more)
		}
	})
}
