package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/wechat/sandbox/sandboxtest"
)

type fields = map[string]any

// add makes a thing of Alpha's and returns it.
func (o *office) add(path string, body any) fields {
	o.Helper()
	return o.send(o.alpha, "POST", "/api/admin/v1"+path, body, http.StatusCreated)
}

// at is the path of a thing.
func at(path string, id any) string { return fmt.Sprintf("%s/%v", path, id) }

func (o *office) insert(rows ...any) {
	o.Helper()
	for _, row := range rows {
		if err := o.shop.Store.Read(o.Context()).Create(row).Error; err != nil {
			o.Fatal(err)
		}
	}
}

func (o *office) exec(query string, args ...any) {
	o.Helper()
	if err := o.shop.Store.Read(o.Context()).Exec(query, args...).Error; err != nil {
		o.Fatal(err)
	}
}

// clerk makes an admin of Alpha's and logs them in.
func (o *office) clerk(name string) (id int64) {
	o.Helper()
	id = o.id(o.add("/admins", fields{"username": name, "password": townPassword, "role_id": o.role("角色 " + name)}))
	o.tokens[name] = o.text(o.send("", "POST", "/api/admin/v1/auth/login", fields{"username": name, "password": townPassword}, 200), "token")
	return id
}

func (o *office) role(name string) int64 {
	return o.id(o.add("/roles", fields{"name": name, "permissions": []string{"order:read"}}))
}

// secured gives a clerk a second factor and returns a recovery code.
func (o *office) secured(name string) string {
	o.Helper()
	o.clerk(name)
	codes := o.send(o.tokens[name], "POST", "/api/admin/v1/auth/totp/confirm", fields{"password": townPassword, "code": o.secondFactor(name)}, 200)["recovery_codes"].([]any)
	return codes[0].(string)
}

// secondFactor begins a clerk's second factor and returns a code of it.
func (o *office) secondFactor(name string) string {
	o.Helper()
	secret := o.text(o.send(o.tokens[name], "POST", "/api/admin/v1/auth/totp", nil, 200), "secret")
	code, err := totp.GenerateCode(secret, o.shop.Now().Std())
	if err != nil {
		o.Fatal(err)
	}
	return code
}

func (o *office) ofPeople() map[string]func() attempt {
	one := func(before, after string) []entry {
		return []entry{{kind: changelog.Admin, before: before, after: after}}
	}
	return map[string]func() attempt{
		"POST /auth/password": func() attempt {
			o.clerk("forgetful")
			return attempt{"/auth/password", fields{"old_password": townPassword, "new_password": "another horse"}, "forgetful", one(`"password_hash":"***"`, `"password_hash":"***"`)}
		},
		"POST /auth/totp/confirm": func() attempt {
			o.clerk("careful")
			return attempt{"/auth/totp/confirm", fields{"password": townPassword, "code": o.secondFactor("careful")}, "careful", one(`"second_factor":false`, `"second_factor":true`)}
		},
		"POST /auth/totp/disable": func() attempt {
			code := o.secured("careless")
			return attempt{"/auth/totp/disable", fields{"password": townPassword, "code": code}, "careless", one(`"second_factor":true`, `"second_factor":false`)}
		},
		"POST /auth/totp/recovery-codes": func() attempt {
			code := o.secured("loser")
			return attempt{"/auth/totp/recovery-codes", fields{"password": townPassword, "code": code}, "loser", one("", `"recovery_codes":"***"`)}
		},
		"POST /admins": func() attempt {
			return attempt{"/admins", fields{"username": "fresh", "password": townPassword, "role_id": o.role("新人")}, "", one("", `"username":"fresh"`)}
		},
		"PUT /admins/{id}": func() attempt {
			return attempt{at("/admins", o.clerk("gone")), fields{"version": 1, "disabled": true}, "", one(`"disabled":false`, `"disabled":true`)}
		},
		"POST /roles": func() attempt {
			return attempt{"/roles", fields{"name": "财务", "permissions": []string{"refund:write"}}, "", []entry{{kind: changelog.Role, after: `"name":"财务"`}}}
		},
		"PUT /roles/{id}": func() attempt {
			body := fields{"version": 1, "name": "客服组", "permissions": []string{"order:read"}}
			return attempt{at("/roles", o.role("客服")), body, "", []entry{{kind: changelog.Role, before: `"name":"客服"`, after: `"name":"客服组"`}}}
		},
		"DELETE /roles/{id}": func() attempt {
			return attempt{at("/roles", o.role("临时")) + "?version=1", nil, "", []entry{{kind: changelog.Role, before: `"name":"临时"`}}}
		},
		"POST /merchants": func() attempt {
			body := fields{"name": "gamma", "admin": fields{"username": "gamma.owner", "password": townPassword}}
			return attempt{"/merchants", body, "admin", []entry{
				{kind: changelog.Merchant, after: `"name":"gamma"`, merchant: "gamma"},
				{kind: changelog.Role, after: `"permissions":["*"]`, merchant: "gamma"},
				{kind: changelog.Admin, after: `"username":"gamma.owner"`, merchant: "gamma"},
			}}
		},
		"PUT /merchants/{id}": func() attempt {
			id := o.id(o.send(o.boss, "POST", "/api/admin/v1/merchants", fields{"name": "delta"}, http.StatusCreated))
			return attempt{at("/merchants", id), fields{"version": 1, "name": "delta", "disabled": true}, "admin", []entry{
				{kind: changelog.Merchant, before: `"disabled":false`, after: `"disabled":true`, merchant: "delta"},
			}}
		},
		"PUT /shop-settings": func() attempt {
			now := o.send(o.alpha, "GET", "/api/admin/v1/shop-settings", nil, 200)
			return attempt{"/shop-settings", fields{"name": "alpha", "notice": "年后发货", "version": now["version"]}, "", []entry{
				{kind: changelog.ShopSettings, before: `"notice":""`, after: `"notice":"年后发货"`},
			}}
		},
	}
}

func (o *office) category(name string) int64 { return o.id(o.add("/categories", fields{"name": name})) }

// product makes a product of one SKU, and puts it on the shelf.
func (o *office) product(name string) (id, sku int64) {
	o.Helper()
	made := o.add("/products", o.draft(name))
	id = o.id(made)
	o.send(o.alpha, "POST", fmt.Sprintf("/api/admin/v1/products/%d/publish", id), nil, 200)
	return id, o.id(made["skus"].([]any)[0].(fields))
}

func (o *office) draft(name string) fields {
	return fields{
		"name": name, "category_id": o.category("分类 " + name), "virtual": true,
		"skus": []fields{{"specs": fields{}, "price_fen": 9900, "stock": 10}},
	}
}

func (o *office) ofGoods() map[string]func() attempt {
	category := func(before, after string) []entry {
		return []entry{{kind: changelog.Category, before: before, after: after}}
	}
	product := func(before, after string) []entry {
		return []entry{{kind: changelog.Product, before: before, after: after}}
	}
	return map[string]func() attempt{
		"POST /categories": func() attempt {
			return attempt{"/categories", fields{"name": "女装"}, "", category("", `"name":"女装"`)}
		},
		"PUT /categories/{id}": func() attempt {
			return attempt{at("/categories", o.category("童装")), fields{"name": "儿童", "version": 1}, "", category(`"name":"童装"`, `"name":"儿童"`)}
		},
		"POST /categories/{id}/move": func() attempt {
			top := o.category("上")
			return attempt{at("/categories", o.category("下")) + "/move", fields{"parent_id": top, "version": 1}, "", category(`"parent_id":0`, fmt.Sprintf(`"parent_id":%d`, top))}
		},
		"DELETE /categories/{id}": func() attempt {
			return attempt{at("/categories", o.category("空")), nil, "", category(`"name":"空"`, "")}
		},
		"POST /products": func() attempt { return attempt{"/products", o.draft("毛衣"), "", product("", `"name":"毛衣"`)} },
		"PUT /products/{id}": func() attempt {
			made := o.add("/products", o.draft("旧名"))
			change := o.draft("新名")
			change["version"], change["skus"] = made["version"], []fields{{"id": made["skus"].([]any)[0].(fields)["id"], "specs": fields{}, "price_fen": 100}}
			return attempt{at("/products", o.id(made)), change, "", product(`"name":"旧名"`, `"name":"新名"`)}
		},
		"POST /products/{id}/publish": func() attempt {
			made := o.add("/products", o.draft("上架"))
			return attempt{at("/products", o.id(made)) + "/publish", nil, "", product(`"published":false`, `"published":true`)}
		},
		"POST /products/{id}/unpublish": func() attempt {
			id, _ := o.product("下架")
			return attempt{at("/products", id) + "/unpublish", nil, "", product(`"published":true`, `"published":false`)}
		},
		"PUT /products/{id}/sort": func() attempt {
			made := o.add("/products", o.draft("排序"))
			return attempt{at("/products", o.id(made)) + "/sort", fields{"sort": 7, "version": made["version"]}, "", product(`"sort":0`, `"sort":7`)}
		},
		"POST /products/shelf": func() attempt {
			one, two := o.add("/products", o.draft("一")), o.add("/products", o.draft("二"))
			picks := []fields{{"id": o.id(one), "version": one["version"]}, {"id": o.id(two), "version": two["version"]}}
			each := product(`"published":false`, `"published":true`)[0]
			return attempt{"/products/shelf", fields{"published": true, "products": picks}, "", []entry{each, each}}
		},
		"POST /skus/{id}/stock": func() attempt {
			_, sku := o.product("库存")
			return attempt{at("/skus", sku) + "/stock", fields{"delta": 5, "reason": "进货"}, "", []entry{{kind: changelog.SKU, before: `"stock":10`, after: `"stock":15`}}}
		},
	}
}

func (o *office) coupon(name string) fields {
	return fields{
		"name": name, "kind": "amount", "amount_fen": 100, "threshold_fen": 0, "scope": "all", "total": 10, "per_shopper": 5,
		"starts_at": "2020-01-01T00:00:00Z", "ends_at": "2090-01-01T00:00:00Z",
	}
}

func (o *office) freight(name string) fields {
	return fields{"name": name, "kind": "piece", "regions": []string{}, "first_units": 1, "first_fen": 0, "step_units": 1, "step_fen": 0}
}

func (o *office) ofCoupons() map[string]func() attempt {
	coupon := func(before, after string) []entry {
		return []entry{{kind: changelog.CouponTemplate, before: before, after: after}}
	}
	freight := func(before, after string) []entry {
		return []entry{{kind: changelog.FreightRule, before: before, after: after}}
	}
	changed := func(draft fields, key string, value any) fields {
		draft[key], draft["version"] = value, 1
		return draft
	}
	return map[string]func() attempt{
		"POST /coupons": func() attempt { return attempt{"/coupons", o.coupon("立减"), "", coupon("", `"name":"立减"`)} },
		"PUT /coupons/{id}": func() attempt {
			return attempt{at("/coupons", o.id(o.add("/coupons", o.coupon("改")))), changed(o.coupon("改"), "total", 20), "", coupon(`"total":10`, `"total":20`)}
		},
		"POST /coupons/{id}/stop": func() attempt {
			return attempt{at("/coupons", o.id(o.add("/coupons", o.coupon("停")))) + "/stop", fields{"version": 1}, "", coupon(`"stopped_at":null`, `"stopped_at":"2`)}
		},
		"POST /coupons/{id}/resume": func() attempt {
			path := at("/coupons", o.id(o.add("/coupons", o.coupon("复"))))
			o.send(o.alpha, "POST", "/api/admin/v1"+path+"/stop", fields{"version": 1}, 200)
			return attempt{path + "/resume", fields{"version": 2}, "", coupon(`"stopped_at":"2`, `"stopped_at":null`)}
		},
		"POST /freight-rules": func() attempt {
			return attempt{"/freight-rules", o.freight("偏远"), "", freight("", `"name":"偏远"`)}
		},
		"PUT /freight-rules/{id}": func() attempt {
			return attempt{at("/freight-rules", o.id(o.add("/freight-rules", o.freight("改")))), changed(o.freight("改"), "first_fen", 800), "", freight(`"first_fen":0`, `"first_fen":800`)}
		},
		"DELETE /freight-rules/{id}": func() attempt {
			return attempt{at("/freight-rules", o.id(o.add("/freight-rules", o.freight("删")))), nil, "", freight(`"name":"删"`, "")}
		},
	}
}

// placed is an order of Ann's for one piece that waits to be paid, and its only line.
func (o *office) placed() (row model.Order, line int64) {
	o.Helper()
	o.calls++
	_, sku := o.product(fmt.Sprintf("商品 %d", o.calls))
	made := o.send(o.ann, "POST", "/api/v1/orders", fields{"items": []fields{{"sku_id": sku, "quantity": 1}}, "expected_payable_fen": 9900}, http.StatusCreated,
		"Idempotency-Key", fmt.Sprintf("office-%08d", o.calls))
	return o.order(o.text(made, "no")), o.id(made["lines"].([]any)[0].(fields))
}

func (o *office) order(no string) (row model.Order) {
	o.Helper()
	if err := o.shop.Store.Read(o.Context()).Where("no = ?", no).Take(&row).Error; err != nil {
		o.Fatal(err)
	}
	return row
}

func (o *office) paid() (row model.Order, line int64) {
	o.Helper()
	row, line = o.placed()
	params := o.send(o.ann, "POST", "/api/v1/orders/"+row.No+"/pay", nil, 200)
	pay := fields{"prepay_id": strings.TrimPrefix(o.text(params, "package"), "prepay_id="), "result": "SUCCESS", "notify": fields{"times": 0}}
	if status := sandboxtest.Control(o.T, o.shop.SandboxURL, "POST", "/sandbox/pay", pay, nil); status > 299 {
		o.Fatalf("paying: %d", status)
	}
	o.send(o.ann, "POST", "/api/v1/orders/"+row.No+"/verify", nil, 200)
	return o.order(row.No), line
}

var express = fields{"parcels": []fields{{"delivery": "express", "carrier": "SF", "tracking_no": "SF1234567890"}}}

func (o *office) shipped() (row model.Order, line int64) {
	o.Helper()
	row, line = o.paid()
	o.send(o.alpha, "POST", "/api/admin/v1/orders/"+row.No+"/ship", express, 200)
	return o.order(row.No), line
}

func (o *office) ofOrders() map[string]func() attempt {
	one := func(before, after string) []entry {
		return []entry{{kind: changelog.Order, before: before, after: after}}
	}
	return map[string]func() attempt{
		"POST /orders/{no}/close": func() attempt {
			row, _ := o.placed()
			return attempt{at("/orders", row.No) + "/close", nil, "", one(`"state":"pending_payment"`, `"state":"closed"`)}
		},
		"POST /orders/{no}/price": func() attempt {
			row, _ := o.placed()
			return attempt{at("/orders", row.No) + "/price", fields{"adjust_fen": -500, "version": row.Version}, "", one(`"adjustment_fen":0`, `"adjustment_fen":-500`)}
		},
		"PUT /orders/{no}/remark": func() attempt {
			row, _ := o.placed()
			return attempt{at("/orders", row.No) + "/remark", fields{"text": "先电话确认", "version": 0}, "", one(`""`, "先电话确认")}
		},
		"POST /orders/{no}/ship": func() attempt {
			row, _ := o.paid()
			return attempt{at("/orders", row.No) + "/ship", express, "", one(`"state":"paid"`, `"state":"shipped"`)}
		},
		"POST /orders/{no}/refund": func() attempt {
			row, line := o.paid()
			return attempt{at("/orders", row.No) + "/refund", fields{"lines": []fields{{"line_id": line, "quantity": 1}}, "reason": "缺货"}, "", one("", "缺货")}
		},
		"PUT /orders/{no}/parcels/{id}": func() attempt {
			row, _ := o.shipped()
			var parcel model.Parcel
			if err := o.shop.Store.Read(o.Context()).Where("order_id = ?", row.ID).Take(&parcel).Error; err != nil {
				o.Fatal(err)
			}
			path := fmt.Sprintf("/orders/%s/parcels/%d", row.No, parcel.ID)
			return attempt{path, fields{"carrier": "ZTO", "tracking_no": "75312345678901"}, "", one(`"carrier":"SF"`, `"carrier":"ZTO"`)}
		},
		"POST /orders/{no}/shipping-upload/retry": func() attempt {
			row, _ := o.shipped()
			// A call that is under way settles nothing of another revision.
			o.exec("UPDATE shipping_uploads SET state = ?, next_at = NULL, revision = revision + 1 WHERE id = ?", model.UploadRefused, row.ID)
			return attempt{at("/orders", row.No) + "/shipping-upload/retry", nil, "", one(`"shipping_upload":"refused"`, `"shipping_upload":"waiting"`)}
		},
	}
}

// asked is an after-sale of a paid or shipped order.
func (o *office) asked(kind model.AftersaleType) string {
	o.Helper()
	buy := o.paid
	if kind == model.AftersaleReturn {
		buy = o.shipped
	}
	row, line := buy()
	made := o.send(o.ann, "POST", "/api/v1/orders/"+row.No+"/aftersales",
		fields{"type": kind, "lines": []fields{{"line_id": line, "quantity": 1}}, "reason": "不合适"}, http.StatusCreated)
	return at("/aftersales", o.id(made))
}

// said is a review of Alpha's in a state.
func (o *office) said(state model.ReviewState) string {
	o.Helper()
	row := model.Review{MerchantID: o.alphaID, ProductID: 1, ShopperID: 1, Specs: map[string]string{}, Rating: 5, Pictures: []model.Image{}, State: state, Version: 1, CreatedAt: o.shop.Now()}
	o.insert(&row)
	return at("/reviews", row.ID)
}

// held is a remark that waits for a person.
func (o *office) held() string {
	o.Helper()
	row, _ := o.placed()
	o.exec("UPDATE orders SET remark = '放门口', remark_state = ? WHERE id = ?", model.RemarkHeld, row.ID)
	hold := model.ContentHold{
		Kind: model.HoldRemark, RefID: row.ID, MerchantID: o.alphaID, ShopperID: row.ShopperID, Text: "放门口", Reason: model.HoldDoubtful, State: model.HoldHeld,
		Version: 1, CreatedAt: o.shop.Now(),
	}
	o.insert(&hold)
	return at("/content-holds", hold.ID)
}

// stuck is a message whose delivery was given up.
func (o *office) stuck() string {
	o.Helper()
	o.calls++
	row := model.Message{Topic: "order.created", Key: fmt.Sprintf("order:%d", 1<<40+o.calls), Seq: 1, MerchantID: o.alphaID, Payload: "{}", State: model.MessageDead, CreatedAt: o.shop.Now()}
	o.insert(&row)
	return at("/messages", row.ID)
}

func (o *office) ofService() map[string]func() attempt {
	change := func(kind changelog.Kind, field, before, after string) []entry {
		return []entry{{kind: kind, before: fmt.Sprintf("%q:%q", field, before), after: fmt.Sprintf("%q:%q", field, after)}}
	}
	one := fields{"version": 1}
	return map[string]func() attempt{
		"POST /aftersales/{id}/approve": func() attempt {
			return attempt{o.asked(model.AftersaleRefundOnly) + "/approve", one, "", change(changelog.Aftersale, "state", "requested", "refunding")}
		},
		"POST /aftersales/{id}/reject": func() attempt {
			return attempt{o.asked(model.AftersaleRefundOnly) + "/reject", fields{"answer": "已使用", "version": 1}, "", change(changelog.Aftersale, "state", "requested", "rejected")}
		},
		"POST /aftersales/{id}/receive": func() attempt {
			path := o.asked(model.AftersaleReturn)
			o.send(o.alpha, "POST", "/api/admin/v1"+path+"/approve", one, 200)
			return attempt{path + "/receive", fields{"version": 2}, "", change(changelog.Aftersale, "state", "approved", "refunding")}
		},
		"POST /anomalies/{id}/resolve": func() attempt {
			row := model.Anomaly{MerchantID: o.alphaID, Kind: "amount", Ref: "office", Detail: "{}", State: model.AnomalyOpen, Seen: 1, CreatedAt: o.shop.Now()}
			o.insert(&row)
			return attempt{at("/anomalies", row.ID) + "/resolve", fields{"note": "已核对"}, "", change(changelog.Anomaly, "state", "open", "resolved")}
		},
		"POST /content-holds/{id}/approve": func() attempt {
			return attempt{o.held() + "/approve", one, "", change(changelog.ContentHold, "state", "held", "passed")}
		},
		"POST /content-holds/{id}/reject": func() attempt {
			return attempt{o.held() + "/reject", one, "", change(changelog.ContentHold, "state", "held", "refused")}
		},
		"POST /reviews/{id}/answer": func() attempt {
			return attempt{o.said(model.ReviewVisible) + "/answer", fields{"answer": "谢谢", "version": 1}, "", change(changelog.Review, "answer", "", "谢谢")}
		},
		"POST /reviews/{id}/hide": func() attempt {
			return attempt{o.said(model.ReviewVisible) + "/hide", one, "", change(changelog.Review, "state", "visible", "hidden")}
		},
		"POST /reviews/{id}/show": func() attempt {
			return attempt{o.said(model.ReviewHidden) + "/show", one, "", change(changelog.Review, "state", "hidden", "visible")}
		},
		"POST /messages/{id}/retry": func() attempt {
			return attempt{o.stuck() + "/retry", nil, "", change(changelog.Message, "state", "dead", "pending")}
		},
		"POST /messages/{id}/skip": func() attempt {
			return attempt{o.stuck() + "/skip", nil, "", change(changelog.Message, "state", "dead", "skipped")}
		},
		"PUT /subscribe-templates/{event}": func() attempt {
			body := fields{"template_id": "4fO4mA1hKq2nGgV0m1yJ0a6bXr7c8d9eFgHiJkLmNoP", "fields": fields{"character_string1": "order_no"}, "enabled": true, "version": 0}
			return attempt{"/subscribe-templates/order_shipped", body, "admin", []entry{{kind: changelog.SubscribeTemplate, after: `"event":"order_shipped"`, merchant: nobody}}}
		},
		"POST /bills/{day}/run": func() attempt {
			day := o.shop.Now().Std().AddDate(0, 0, -40).Format(time.DateOnly) // the shop by itself looks at the last days
			return attempt{at("/bills", day) + "/run", nil, "admin", []entry{{kind: changelog.Bill, after: `"state":"waiting"`, merchant: nobody}}}
		},
	}
}

// policy is a policy of Alpha's for a stage of a business line.
func (o *office) policy(line string) string {
	o.Helper()
	return at("/timeout-policies", o.id(o.add("/timeout-policies", o.policyDraft(line))))
}

func (o *office) policyDraft(line string) fields {
	return fields{"stage": "pay", "duration_ms": 1_800_000, "merchant_id": o.alphaID, "biz_line": line}
}

// dead is an order of Ann's whose pay deadline was given up.
func (o *office) dead() model.Order {
	o.Helper()
	row, _ := o.placed()
	now := o.shop.Now()
	o.exec("INSERT INTO task_failures (kind, task_key, due, attempts, waits, next_at, dead_at, error, created_at, updated_at) VALUES ('pay', ?, ?, 5, 0, ?, ?, 'broken', ?, ?)",
		fmt.Sprint(row.ID), row.PayDeadline, now, now, now, now)
	return row
}

func (o *office) ofTime() map[string]func() attempt {
	policy := func(before, after string) []entry {
		return []entry{{kind: changelog.TimeoutPolicy, before: before, after: after}}
	}
	longer := fields{"duration_ms": 3_600_000, "version": 1}
	return map[string]func() attempt{
		"POST /timeout-policies": func() attempt {
			return attempt{"/timeout-policies", o.policyDraft("new"), "", policy("", `"duration_ms":1800000`)}
		},
		"PUT /timeout-policies/{id}": func() attempt {
			return attempt{o.policy("put"), longer, "", policy(`"duration_ms":1800000`, `"duration_ms":3600000`)}
		},
		"POST /timeout-policies/{id}/rollback": func() attempt {
			path := o.policy("back")
			o.send(o.alpha, "PUT", "/api/admin/v1"+path, longer, 200)
			return attempt{path + "/rollback", fields{"version": 2}, "", policy(`"duration_ms":3600000`, `"duration_ms":1800000`)}
		},
		"DELETE /timeout-policies/{id}": func() attempt {
			return attempt{o.policy("gone") + "?version=1", nil, "", policy(`"biz_line":"gone"`, "")}
		},
		"POST /timeout-policies/{id}/retime": func() attempt {
			return attempt{o.policy("retime") + "/retime", nil, "", []entry{{kind: changelog.Job, after: `"kind":"retime"`}}}
		},
		"DELETE /timeout-policies/{id}/retime": func() attempt {
			id := o.id(o.add("/timeout-policies", o.policyDraft("stop")))
			now := o.shop.Now() // the lease keeps the job from ending by itself
			o.insert(&model.Job{
				ID: 1 << 41, MerchantID: o.alphaID, Kind: model.JobRetime, State: model.JobRunning, PolicyID: id, PolicyVersion: 1, LeaseToken: "somebody",
				LeaseUntil: now.Add(time.Hour), CreatedAt: now, UpdatedAt: now,
			})
			return attempt{at("/timeout-policies", id) + "/retime", nil, "", []entry{{kind: changelog.Job, before: `"state":"running"`, after: `"state":"cancelled"`}}}
		},
		"POST /timeouts/{kind}/{key}/retry": func() attempt {
			return attempt{fmt.Sprintf("/timeouts/pay/%d/retry", o.dead().ID), nil, "", []entry{{kind: changelog.Task, after: `"retried":1`}}}
		},
		"POST /timeouts/retry-all": func() attempt {
			o.dead()
			return attempt{"/timeouts/retry-all", fields{"kind": "pay"}, "", []entry{{kind: changelog.Task, after: `"retried":1`}}}
		},
	}
}

func (o *office) ofJobs() map[string]func() attempt {
	job := func(before, after string) []entry {
		return []entry{{kind: changelog.Job, before: before, after: after}}
	}
	return map[string]func() attempt{
		"POST /jobs/ship-batch": func() attempt {
			row, _ := o.placed()
			return attempt{"/jobs/ship-batch", form("order_no,carrier,tracking_no\n" + row.No + ",SF,SF1234567890\n"), "", job("", `"kind":"ship_batch"`)}
		},
		"POST /jobs/product-import": func() attempt {
			return attempt{"/jobs/product-import?dry_run=true", form("code,name,category,price,stock\nC1,杯子,杯,12.00,3\n"), "", job("", `"dry_run":true`)}
		},
		"POST /jobs/product-export": func() attempt { return attempt{"/jobs/product-export", nil, "", job("", `"kind":"product_export"`)} },
		"POST /jobs/order-export":   func() attempt { return attempt{"/jobs/order-export", nil, "", job("", `"kind":"order_export"`)} },
		"POST /jobs/{id}/cancel": func() attempt {
			now := o.shop.Now()
			row := model.Job{
				ID: 1 << 40, MerchantID: o.alphaID, Kind: model.JobShipBatch, State: model.JobRunning, Params: "{}", LeaseToken: "somebody",
				LeaseUntil: now.Add(time.Hour), CreatedAt: now,
			}
			o.insert(&row)
			return attempt{at("/jobs", row.ID) + "/cancel", nil, "", job(`"state":"running"`, `"state":"cancelled"`)}
		},
	}
}
