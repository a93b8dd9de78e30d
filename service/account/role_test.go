package account_test

import (
	"sync"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// A role goes once nobody has it; its name is free again.
func TestRolesThatNobodyHasAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, alpha := f.shop(t, "alpha")
		_, beta := f.shop(t, "beta")
		named := account.RoleInput{Name: "客服", Permissions: []account.Permission{account.OrderRead}}
		role := must(f.AddRole(t.Context(), alpha, named))(t)
		clerk := must(f.AddAdmin(t.Context(), alpha, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: role.ID}))(t)
		yes := true
		must(f.ChangeAdmin(t.Context(), alpha, clerk.ID, account.AdminChange{Version: 1, Disabled: &yes}))(t)
		want(t, f.DeleteRole(t.Context(), alpha, role.ID, 1), fault.InUse) // who is disabled may come back
		other := must(f.AddRole(t.Context(), alpha, account.RoleInput{Name: "仓库"}))(t)
		must(f.ChangeAdmin(t.Context(), alpha, clerk.ID, account.AdminChange{Version: 2, RoleID: &other.ID}))(t)

		want(t, f.DeleteRole(t.Context(), beta, role.ID, 1), fault.NotFoundError)
		want(t, f.DeleteRole(t.Context(), alpha, role.ID, 2), fault.StaleVersion)
		if err := f.DeleteRole(t.Context(), alpha, role.ID, 1); err != nil {
			t.Fatal(err)
		}
		want(t, f.DeleteRole(t.Context(), alpha, role.ID, 1), fault.NotFoundError)
		_, err := f.AddAdmin(t.Context(), alpha, account.AdminInput{Username: "late", Password: bossPassword, RoleID: role.ID})
		want(t, err, fault.ValidationFailed)
		must(f.AddRole(t.Context(), alpha, named))(t)
	})
}

// Nobody removes a role that allows more than they may, as their own greater colleague's.
func TestNobodyRemovesAGreaterRole(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		few := must(f.AddRole(t.Context(), owner, account.RoleInput{Name: "人事", Permissions: []account.Permission{account.AccountWrite}}))(t)
		more := must(f.AddRole(t.Context(), owner, account.RoleInput{Name: "财务", Permissions: []account.Permission{account.RefundWrite}}))(t)
		must(f.AddAdmin(t.Context(), owner, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: few.ID}))(t)
		clerk := f.login(t, "clerk", bossPassword)
		want(t, f.DeleteRole(t.Context(), clerk, more.ID, 1), fault.PermissionDenied)
		want(t, f.DeleteRole(t.Context(), clerk, few.ID, 1), fault.InUse)
	})
}

// Where a role is given away and removed at once, one of both is refused: nobody is left with a role that is not there.
func TestARoleIsNotRemovedUnderAnAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := newPanel(t, s)
		_, owner := f.shop(t, "alpha")
		role := must(f.AddRole(t.Context(), owner, account.RoleInput{Name: "旧"}))(t)
		clerk := must(f.AddAdmin(t.Context(), owner, account.AdminInput{Username: "clerk", Password: bossPassword, RoleID: role.ID}))(t)
		for round := range 10 {
			next := must(f.AddRole(t.Context(), owner, account.RoleInput{Name: "新"}))(t)
			var wg sync.WaitGroup
			var removed, given error
			wg.Go(func() { removed = f.DeleteRole(t.Context(), owner, next.ID, 1) })
			wg.Go(func() {
				var info account.AdminInfo
				if info, given = f.ChangeAdmin(t.Context(), owner, clerk.ID, account.AdminChange{Version: clerk.Version, RoleID: &next.ID}); given == nil {
					clerk = info
				}
			})
			wg.Wait()
			if (removed == nil) == (given == nil) {
				t.Errorf("round %d: removed %v, given %v", round, removed, given)
			}
			if given == nil { // the next round needs the name
				back := must(f.ChangeAdmin(t.Context(), owner, clerk.ID, account.AdminChange{Version: clerk.Version, RoleID: &role.ID}))(t)
				clerk = back
				if err := f.DeleteRole(t.Context(), owner, next.ID, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		var orphans int64
		err := s.Read(t.Context()).Model(&model.Admin{}).Where("role_id NOT IN (SELECT id FROM roles)").Count(&orphans).Error
		if err != nil || orphans != 0 {
			t.Errorf("%d admins have a role that is not there, %v", orphans, err)
		}
	})
}
