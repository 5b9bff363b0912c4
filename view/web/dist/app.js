// node_modules/svelte/src/internal/shared/utils.js
var e = Array.isArray, t = Array.prototype.indexOf, n = Array.prototype.includes, r = Array.from, i = Object.defineProperty, a = Object.getOwnPropertyDescriptor, o = Object.getOwnPropertyDescriptors, s = Object.prototype, c = Array.prototype, l = Object.getPrototypeOf, u = Object.isExtensible, d = () => {};
function f(e) {
	for (var t = 0; t < e.length; t++) e[t]();
}
function p() {
	var e, t;
	return {
		promise: new Promise((n, r) => {
			e = n, t = r;
		}),
		resolve: e,
		reject: t
	};
}
function m(e, t) {
	if (Array.isArray(e)) return e;
	if (t === void 0 || !(Symbol.iterator in e)) return Array.from(e);
	let n = [];
	for (let r of e) if (n.push(r), n.length === t) break;
	return n;
}
var h = 1024, g = 2048, _ = 4096, v = 8192, y = 16384, b = 32768, x = 1 << 25, S = 65536, C = 1 << 19, w = 1 << 20, ee = 1 << 25, T = 1 << 21, E = 1 << 22, te = 1 << 23, ne = Symbol("$state"), re = Symbol("component"), ie = Symbol("legacy props"), ae = Symbol(""), oe = Symbol("attributes"), se = Symbol("class"), ce = Symbol("style"), le = Symbol("text"), ue = Symbol("form reset"), de = new class extends Error {
	name = "StaleReactionError";
	message = "The reaction that called `getAbortSignal()` was re-run or destroyed";
}(), D = !!globalThis.document?.contentType && globalThis.document.contentType.includes("xml"), fe = {}, O = Symbol("uninitialized"), pe = "http://www.w3.org/1999/xhtml";
function me() {
	console.warn("https://svelte.dev/e/derived_inert");
}
function he(e) {
	console.warn("https://svelte.dev/e/hydration_mismatch");
}
function ge() {
	console.warn("https://svelte.dev/e/select_multiple_invalid_value");
}
function _e() {
	console.warn("https://svelte.dev/e/svelte_boundary_reset_noop");
}
// node_modules/svelte/src/internal/client/dom/hydration.js
var k = !1;
function ve(e) {
	k = e;
}
var A;
function ye(e) {
	if (e === null) throw he(), fe;
	return A = e;
}
function be() {
	return ye(en(A));
}
function j(e) {
	if (k) {
		if (en(A) !== null) throw he(), fe;
		A = e;
	}
}
function xe(e = 1) {
	if (k) {
		for (var t = e, n = A; t--;) n = en(n);
		A = n;
	}
}
function Se(e = !0) {
	for (var t = 0, n = A;;) {
		if (n.nodeType === 8) {
			var r = n.data;
			if (r === "]") {
				if (t === 0) return n;
				--t;
			} else (r === "[" || r === "[!" || r[0] === "[" && !isNaN(Number(r.slice(1)))) && (t += 1);
		}
		var i = en(n);
		e && n.remove(), n = i;
	}
}
function Ce(e) {
	if (!e || e.nodeType !== 8) throw he(), fe;
	return e.data;
}
// node_modules/svelte/src/internal/client/reactivity/equality.js
function we(e) {
	return e === this.v;
}
function Te(e, t) {
	return e == e ? e !== t || typeof e == "object" && !!e || typeof e == "function" : t == t;
}
function Ee(e) {
	return !Te(e, this.v);
}
// node_modules/svelte/src/internal/client/errors.js
function De() {
	throw Error("https://svelte.dev/e/async_derived_orphan");
}
function M(e, t, n) {
	throw Error("https://svelte.dev/e/each_key_duplicate");
}
function N(e) {
	throw Error("https://svelte.dev/e/effect_in_teardown");
}
function Oe() {
	throw Error("https://svelte.dev/e/effect_in_unowned_derived");
}
function ke(e) {
	throw Error("https://svelte.dev/e/effect_orphan");
}
function Ae() {
	throw Error("https://svelte.dev/e/effect_update_depth_exceeded");
}
function je(e) {
	throw Error("https://svelte.dev/e/props_invalid_value");
}
function Me() {
	throw Error("https://svelte.dev/e/state_descriptors_fixed");
}
function Ne() {
	throw Error("https://svelte.dev/e/state_prototype_fixed");
}
function Pe() {
	throw Error("https://svelte.dev/e/state_unsafe_mutation");
}
function Fe() {
	throw Error("https://svelte.dev/e/svelte_boundary_reset_onerror");
}
// node_modules/svelte/src/internal/client/context.js
var Ie = null;
function Le(e) {
	Ie = e;
}
function Re(e, t = !1, n) {
	Ie = {
		p: Ie,
		i: !1,
		c: null,
		e: null,
		s: e,
		x: null,
		r: Ln,
		l: null
	};
}
function ze(e) {
	var t = Ie, n = t.e;
	if (n !== null) {
		t.e = null;
		for (var r of n) pn(r);
	}
	return e !== void 0 && (t.x = e), t.i = !0, Ie = t.p, Be(e);
}
function Be(e = {}) {
	return i(e, re, { value: !0 }), e;
}
function Ve() {
	return !0;
}
// node_modules/svelte/src/internal/client/dom/task.js
var He = [];
function Ue() {
	var e = He;
	He = [], f(e);
}
function We(e) {
	if (He.length === 0 && !vt) {
		var t = He;
		queueMicrotask(() => {
			t === He && Ue();
		});
	}
	He.push(e);
}
function Ge() {
	for (; He.length > 0;) Ue();
}
// node_modules/svelte/src/internal/client/reactivity/status.js
var Ke = ~(g | _ | h);
function qe(e, t) {
	e.f = e.f & Ke | t;
}
function Je(e) {
	e.f & 512 || e.deps === null ? qe(e, h) : qe(e, _);
}
// node_modules/svelte/src/internal/client/reactivity/utils.js
function Ye(e, t) {
	e.f & 2048 ? t.set(e, g) : e.f & 4096 && t.get(e) !== 2048 && t.set(e, _), qe(e, h);
}
// node_modules/svelte/src/internal/client/dom/elements/misc.js
function Xe(e, t) {
	if (t) {
		let t = document.body;
		e.autofocus = !0, We(() => {
			document.activeElement === t && e.focus();
		});
	}
}
var Ze = !1;
function Qe() {
	Ze || (Ze = !0, document.addEventListener("reset", (e) => {
		Promise.resolve().then(() => {
			if (!e.defaultPrevented) for (let t of e.target.elements) t[ue]?.();
		});
	}, { capture: !0 }));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/shared.js
function $e(e) {
	var t = Pn, n = Ln;
	In(null), Rn(null);
	try {
		return e();
	} finally {
		In(t), Rn(n);
	}
}
function et(e, t, n, r = n) {
	e.addEventListener(t, () => $e(n));
	let i = e[ue];
	e[ue] = i ? () => {
		i(), r(!0);
	} : () => r(!0), Qe();
}
// node_modules/svelte/src/internal/client/reactivity/async.js
function tt(e, t, n, r) {
	let i = Ve() ? at : ct;
	var a = e.filter((e) => !e.settled), o = t.map(i);
	if (n.length === 0 && a.length === 0) {
		r(o);
		return;
	}
	var s = Ln, c = nt(), l = a.length === 1 ? a[0].promise : a.length > 1 ? Promise.all(a.map((e) => e.promise)) : null;
	function u(e) {
		if (!(s.f & 16384)) {
			c();
			try {
				r([...o, ...e]);
			} catch (e) {
				sn(e, s);
			}
			rt();
		}
	}
	var d = it();
	if (n.length === 0) {
		l.then(() => u([])).finally(d);
		return;
	}
	function f() {
		Promise.all(n.map((e) => st(e))).then(u).catch((e) => sn(e, s)).finally(d);
	}
	l ? l.then(() => {
		s.f & 16384 ? d() : (c(), f(), rt());
	}) : f();
}
function nt() {
	var e = Ln, t = Pn, n = Ie, r = F;
	return function(i = !0) {
		Rn(e), In(t), Le(n), i && !(e.f & 16384) && (r?.activate(), r?.apply());
	};
}
function rt(e = !0) {
	Rn(null), In(null), Le(null), e && F?.deactivate();
}
function it() {
	var e = Ln, t = e.b, n = F, r = !!t?.is_rendered();
	return t?.update_pending_count(1, n), n.increment(r, e), () => {
		t?.update_pending_count(-1, n), n.decrement(r, e);
	};
}
function at(e) {
	var t = 2 | g;
	return Ln !== null && (Ln.f |= C), {
		ctx: Ie,
		deps: null,
		effects: null,
		equals: we,
		f: t,
		fn: e,
		reactions: null,
		rv: 0,
		v: O,
		wv: 0,
		parent: Ln,
		ac: null
	};
}
var ot = Symbol("obsolete");
function st(e, t, n) {
	let r = Ln;
	r === null && De();
	var i = void 0, a = Ft(O), o = !Pn, s = new Set();
	return gn(() => {
		var t = Ln, n = p();
		i = n.promise;
		try {
			Promise.resolve(e()).then(n.resolve, (e) => {
				e !== de && n.reject(e);
			}).finally(rt);
		} catch (e) {
			n.reject(e), rt();
		}
		var c = F;
		if (o) {
			if (t.f & 32768) var l = it();
			if (r.b?.is_rendered()) c.async_deriveds.get(t)?.reject(ot);
			else for (let e of s.values()) e.reject(ot);
			s.add(n), c.async_deriveds.set(t, n);
		}
		let u = (e, t = void 0) => {
			l?.(), s.delete(n), t !== ot && (c.activate(), t ? (a.f |= te, zt(a, t)) : (a.f & 8388608 && (a.f ^= te), zt(a, e)), c.deactivate());
		};
		n.promise.then(u, (e) => u(null, e || "unknown"));
	}), fn(() => {
		for (let e of s) e.reject(ot);
	}), new Promise((e) => {
		function t(n) {
			function r() {
				n === i ? e(a) : t(i);
			}
			n.then(r, r);
		}
		t(i);
	});
}
function P(e) {
	let t = at(e);
	return Bn(t), t;
}
function ct(e) {
	let t = at(e);
	return t.equals = Ee, t;
}
function lt(e) {
	var t = e.effects;
	if (t !== null) {
		e.effects = null;
		for (var n = 0; n < t.length; n += 1) Cn(t[n]);
	}
}
function ut(e) {
	var t, n = Ln, r = e.parent;
	if (!Mn && r !== null && e.v !== O && r.f & 24576) return me(), e.v;
	Rn(r);
	try {
		lt(e), t = Qn(e);
	} finally {
		Rn(n);
	}
	return t;
}
function dt(e) {
	var t = ut(e);
	!e.equals(t) && (e.wv = Yn(), (!F?.is_fork || e.deps === null) && (F === null ? e.v = t : (F.capture(e, t, !0), ht?.capture(e, t, !0)), e.deps === null)) ? qe(e, h) : Mn || (gt === null ? Je(e) : (dn() || F?.is_fork) && gt.set(e, t));
}
function ft(e) {
	if (e.effects !== null) for (let t of e.effects) (t.teardown || t.ac) && (t.teardown?.(), t.ac !== null && $e(() => {
		t.ac.abort(de), t.ac = null;
	}), t.fn !== null && (t.teardown = d), tr(t, 0), xn(t));
}
function pt(e) {
	if (e.effects !== null) for (let t of e.effects) t.teardown && t.fn !== null && nr(t);
}
// node_modules/svelte/src/internal/client/reactivity/batch.js
var mt = null, F = null, ht = null, gt = null, _t = null, vt = !1, yt = !1, bt = null, xt = null, St = 0, Ct = 1, wt = class e {
	id = Ct++;
	started = !1;
	linked = !0;
	prev = null;
	next = null;
	async_deriveds = new Map();
	current = new Map();
	previous = new Map();
	#e = new Set();
	#t = new Set();
	#n = 0;
	#r = new Map();
	#i = null;
	#a = [];
	#o = [];
	#s = new Map();
	#c = new Map();
	#l = new Set();
	is_fork = !1;
	#u = !1;
	constructor() {
		mt === null ? mt = this : (mt.next = this, this.prev = mt), mt = this;
	}
	#d() {
		if (this.is_fork) return !0;
		for (let e of this.#r.keys()) if (!this.#f(e)) return !0;
		return !1;
	}
	#f(e) {
		for (var t = e; t !== null; t = t.parent) if (this.#c.has(t)) return !0;
		return !1;
	}
	skip_effect(e) {
		this.#c.has(e) || this.#c.set(e, {
			d: [],
			m: []
		}), this.#l.delete(e);
	}
	unskip_effect(e, t = (e) => this.schedule(e)) {
		var n = this.#c.get(e);
		if (n) {
			this.#c.delete(e);
			for (var r of n.d) qe(r, g), t(r);
			for (r of n.m) qe(r, _), t(r);
		}
		this.#l.add(e);
	}
	#p() {
		var e = [];
		for (let i of this.#a) if (!(i.f & 16384 || !(i.f & 6144))) {
			for (var t = i, n = !1; t.parent !== null;) {
				t = t.parent;
				var r = t.f;
				if (r & 96) {
					if (!(r & 1024)) {
						n = !0;
						break;
					}
					t.f ^= h;
				}
			}
			n || e.push(t);
		}
		return this.#a = [], e;
	}
	#m() {
		this.started = !0;
		for (let [e, t] of this.#s) qe(e, t), this.schedule(e);
		this.apply();
		for (var t = bt = [], n = [], r = xt = []; this.#a.length > 0;) {
			St++ > 1e3 && (this.#b(), Et());
			for (let e of this.#p()) try {
				this.#h(e, t, n);
			} catch (t) {
				throw jt(e), this.#d() || this.discard(), t;
			}
		}
		if (F = null, r.length > 0) {
			var i = e.ensure();
			for (let e of r) i.schedule(e);
		}
		if (bt = null, xt = null, this.#d()) {
			this.#y(n), this.#y(t);
			for (let [e, t] of this.#c) At(e, t);
			r.length > 0 && F.#m();
			return;
		}
		let a = this.#g();
		if (a) this.#y(n), this.#y(t), a.#v(this);
		else {
			this.#s.clear();
			for (let e of this.#e) e(this);
			this.#e.clear(), ht = this, Ot(n), Ot(t), ht = null, this.#i?.resolve();
			var o = F;
			this.#n === 0 && (this.#a.length === 0 || o !== null) && this.#b(), o !== null && (Nt.clear(), o.#m());
		}
	}
	#h(e, t, n) {
		e.f ^= h;
		for (var r = e.first; r !== null;) {
			var i = r.f, a = !!(i & 96);
			if (!(a && i & 1024 || i & 8192 || this.#c.has(r)) && r.fn !== null) {
				a ? r.f ^= h : i & 4 ? t.push(r) : Xn(r) && (i & 16 && this.add_dirty_reaction(r, _), nr(r));
				var o = r.first;
				if (o !== null) {
					r = o;
					continue;
				}
			}
			for (; r !== null;) {
				var s = r.next;
				if (s !== null) {
					r = s;
					break;
				}
				r = r.parent;
			}
		}
	}
	#g() {
		for (var e = this.prev; e !== null; e = e.prev) if (!e.is_fork && this.#_(e)) return e;
		return null;
	}
	#_(e) {
		for (let [t, [, n]] of this.current) if (!n && e.current.has(t)) return !0;
		return !1;
	}
	#v(e) {
		for (let [t, n] of e.current) !this.previous.has(t) && e.previous.has(t) && this.previous.set(t, e.previous.get(t)), this.current.set(t, n);
		for (let [t, n] of e.async_deriveds) {
			let e = this.async_deriveds.get(t);
			e && n.promise.then(e.resolve).catch(e.reject);
		}
		e.async_deriveds.clear(), this.transfer_reactions(e.#s);
		let t = (e) => {
			var n = e.reactions;
			if (n !== null && !(e.f & 2 && !(e.f & 6144))) for (let e of n) {
				var r = e.f;
				if (r & 2) t(e);
				else {
					var i = e;
					r & 4194320 && !this.async_deriveds.has(i) && (this.#s.delete(i), qe(i, g), this.schedule(i));
				}
			}
		};
		for (let e of this.current.keys()) t(e);
		this.oncommit(() => e.discard()), e.#b(), F = this, this.#m();
	}
	#y(e) {
		for (var t = 0; t < e.length; t += 1) Ye(e[t], this.#s);
	}
	capture(e, t, n = !1) {
		e.v !== O && !this.previous.has(e) && this.previous.set(e, e.v), e.f & 8388608 || (this.current.set(e, [t, n]), gt?.set(e, t)), this.is_fork || (e.v = t);
	}
	activate() {
		F = this;
	}
	deactivate() {
		F = null, gt = null;
	}
	flush() {
		try {
			yt = !0, F = this, this.#m();
		} finally {
			St = 0, _t = null, bt = null, xt = null, yt = !1, F = null, gt = null, Nt.clear();
		}
	}
	discard() {
		for (let e of this.#t) e(this);
		this.#t.clear();
		for (let e of this.async_deriveds.values()) e.reject(ot);
		this.#b(), this.#i?.resolve();
	}
	register_created_effect(e) {
		this.#o.push(e);
	}
	increment(e, t) {
		if (this.#n += 1, e) {
			let e = this.#r.get(t) ?? 0;
			this.#r.set(t, e + 1);
		}
	}
	decrement(e, t) {
		if (--this.#n, e) {
			let e = this.#r.get(t) ?? 0;
			e === 1 ? this.#r.delete(t) : this.#r.set(t, e - 1);
		}
		this.#u || (this.#u = !0, We(() => {
			this.#u = !1, this.linked && this.flush();
		}));
	}
	transfer_reactions(e) {
		for (let [t, n] of e) this.add_dirty_reaction(t, n);
		e.clear();
	}
	add_dirty_reaction(e, t) {
		(t === 2048 || this.#s.get(e) !== 2048) && this.#s.set(e, t);
	}
	oncommit(e) {
		this.#e.add(e);
	}
	ondiscard(e) {
		this.#t.add(e);
	}
	settled() {
		return (this.#i ??= p()).promise;
	}
	static ensure() {
		if (F === null) {
			let t = F = new e();
			!yt && !vt && We(() => {
				t.started || t.flush();
			});
		}
		return F;
	}
	apply() {
		gt = null;
	}
	schedule(e) {
		_t = e, e.b?.is_pending && e.f & 16777228 && !(e.f & 32768) ? e.b.defer_effect(e) : this.#a.push(e);
	}
	#b() {
		if (this.linked) {
			var e = this.prev, t = this.next;
			e === null || (e.next = t), t === null ? mt = e : t.prev = e, this.linked = !1;
		}
	}
};
function Tt(e) {
	var t = vt, n = ht;
	ht = null, vt = !0;
	try {
		var r;
		for (e && (Tt(), r = e());;) {
			if (Ge(), F === null) return r;
			F.flush();
		}
	} finally {
		vt = t, ht = n;
	}
}
function Et() {
	try {
		Ae();
	} catch (e) {
		sn(e, _t);
	}
}
var Dt = null;
function Ot(e) {
	var t = e.length;
	if (t !== 0) {
		for (var n = 0; n < t;) {
			var r = e[n++];
			if (!(r.f & 24576) && Xn(r) && (Dt = new Set(), nr(r), r.deps === null && r.first === null && r.nodes === null && r.teardown === null && r.ac === null && Tn(r), Dt?.size > 0)) {
				Nt.clear();
				for (let e of Dt) {
					if (e.f & 24576) continue;
					let t = [e], n = e.parent;
					for (; n !== null;) Dt.has(n) && (Dt.delete(n), t.push(n)), n = n.parent;
					for (let e = t.length - 1; e >= 0; e--) {
						let n = t[e];
						n.f & 24576 || nr(n);
					}
				}
				Dt.clear();
			}
		}
		Dt = null;
	}
}
function kt(e) {
	F.schedule(e);
}
function At(e, t) {
	if (!(e.f & 32 && e.f & 1024)) {
		e.f & 2048 ? t.d.push(e) : e.f & 4096 && t.m.push(e), qe(e, h);
		for (var n = e.first; n !== null;) At(n, t), n = n.next;
	}
}
function jt(e) {
	qe(e, h);
	for (var t = e.first; t !== null;) jt(t), t = t.next;
}
// node_modules/svelte/src/internal/client/reactivity/sources.js
var Mt = new Set(), Nt = new Map(), Pt = !1;
function Ft(e, t) {
	return {
		f: 0,
		v: e,
		reactions: null,
		equals: we,
		rv: 0,
		wv: 0
	};
}
function I(e, t) {
	let n = Ft(e, t);
	return Bn(n), n;
}
function It(e, t = !1, n = !0) {
	let r = Ft(e);
	return t || (r.equals = Ee), r;
}
function L(e, t, n = !1) {
	return Pn !== null && (!Fn || Pn.f & 131072) && Ve() && Pn.f & 4325394 && (zn === null || !zn.has(e)) && Pe(), zt(e, n ? Wt(t) : t, xt);
}
var Lt = null, Rt = 0;
function zt(e, t, n = null) {
	if (!e.equals(t)) {
		Mn ? Nt.set(e, t) : Nt.has(e) || Nt.set(e, e.v);
		var r = wt.ensure();
		if (r.capture(e, t), e.f & 2) {
			let t = e;
			e.f & 2048 && ut(t), gt === null && Je(t);
		}
		e.wv = Yn(), Lt = null, Rt = 0, Ut(e, g, n), Lt = null, Ve() && Ln !== null && Ln.f & 1024 && !(Ln.f & 96) && (Un === null ? Wn([e]) : Un.push(e)), !r.is_fork && Mt.size > 0 && !Pt && Bt();
	}
	return t;
}
function Bt() {
	Pt = !1;
	for (let e of Mt) {
		e.f & 1024 && qe(e, _);
		let t;
		try {
			t = Xn(e);
		} catch {
			t = !0;
		}
		t && nr(e);
	}
	Mt.clear();
}
function Vt(e, t = 1) {
	var n = W(e), r = t === 1 ? n++ : n--;
	return L(e, n), r;
}
function Ht(e) {
	L(e, e.v + 1);
}
function Ut(e, t, n) {
	var r = e.reactions;
	if (r !== null) {
		var i = Ve(), a = r.length;
		if (Rt += a, Rt > 1e5 && Lt === null && (Lt = new Set()), Lt !== null) {
			if (Lt.has(e)) return;
			Lt.add(e);
		}
		for (var o = 0; o < a; o++) {
			var s = r[o], c = s.f;
			if (i || s !== Ln) {
				var l = (c & g) === 0;
				if (l && qe(s, t), c & 131072) Mt.add(s);
				else if (c & 2) {
					var u = s;
					gt?.delete(u), Ut(u, _, n);
				} else if (l) {
					var d = s;
					c & 16 && Dt !== null && Dt.add(d), n === null ? kt(d) : n.push(d);
				}
			}
		}
	}
}
function Wt(t) {
	if (typeof t != "object" || !t || ne in t || re in t) return t;
	let n = l(t);
	if (n !== s && n !== c) return t;
	var r = new Map(), i = e(t), o = I(0), u = null, d = qn, f = (e) => {
		if (qn === d) return e();
		var t = Pn, n = qn;
		In(null), Jn(d);
		var r = e();
		return In(t), Jn(n), r;
	};
	return i && r.set("length", I(t.length, u)), new Proxy(t, {
		defineProperty(e, t, n) {
			"value" in n && n.configurable !== !1 && n.enumerable !== !1 && n.writable !== !1 || Me();
			var i = r.get(t);
			return i === void 0 ? f(() => {
				var e = I(n.value, u);
				return r.set(t, e), e;
			}) : L(i, n.value, !0), !0;
		},
		deleteProperty(e, t) {
			var n = r.get(t);
			if (n === void 0) {
				if (t in e) {
					let e = f(() => I(O, u));
					r.set(t, e), Ht(o);
				}
			} else L(n, O), Ht(o);
			return !0;
		},
		get(e, n, i) {
			if (n === ne) return t;
			var o = r.get(n), s = n in e;
			if (o === void 0 && (!s || a(e, n)?.writable) && (o = f(() => I(Wt(s ? e[n] : O), u)), r.set(n, o)), o !== void 0) {
				var c = W(o);
				return c === O ? void 0 : c;
			}
			return Reflect.get(e, n, i);
		},
		getOwnPropertyDescriptor(e, t) {
			this.has?.(e, t);
			var n = Reflect.getOwnPropertyDescriptor(e, t), i = r.get(t);
			if (i !== void 0) {
				var a = W(i);
				if (a === O) return;
				if (n && "value" in n) n.value = a;
				else return {
					enumerable: !0,
					configurable: !0,
					value: a,
					writable: !0
				};
			}
			return n;
		},
		has(e, t) {
			if (t === ne) return !0;
			var n = r.get(t), i = n !== void 0 && n.v !== O || Reflect.has(e, t);
			return (n !== void 0 || (Ln !== null || Pn !== null) && (!i || a(e, t)?.writable)) && (n === void 0 && (n = f(() => I(i ? Wt(e[t]) : O, u)), r.set(t, n)), W(n) === O) ? !1 : i;
		},
		set(e, t, n, s) {
			var c = r.get(t), l = t in e;
			if (i && t === "length") for (var d = n; d < c.v; d += 1) {
				var p = r.get(d + "");
				p === void 0 ? d in e && (p = f(() => I(O, u)), r.set(d + "", p)) : L(p, O);
			}
			if (c === void 0) (!l || a(e, t)?.writable) && (c = f(() => I(void 0, u)), L(c, Wt(n)), r.set(t, c));
			else {
				l = c.v !== O;
				var m = f(() => Wt(n));
				L(c, m);
			}
			var h = Reflect.getOwnPropertyDescriptor(e, t);
			if (h?.set && h.set.call(s, n), !l) {
				if (i && typeof t == "string") {
					var g = r.get("length"), _ = Number(t);
					Number.isInteger(_) && _ >= g.v && L(g, _ + 1);
				}
				Ht(o);
			}
			return !0;
		},
		ownKeys(e) {
			W(o);
			var t = Reflect.ownKeys(e).filter((e) => {
				var t = r.get(e);
				return t === void 0 || t.v !== O;
			});
			for (var [n, i] of r) i.v !== O && !(n in e) && t.push(n);
			return t;
		},
		setPrototypeOf() {
			Ne();
		}
	});
}
function Gt(e) {
	try {
		if (typeof e == "object" && e && ne in e) return e[ne];
	} catch {}
	return e;
}
function Kt(e, t) {
	return Object.is(Gt(e), Gt(t));
}
var qt, Jt, Yt, Xt;
function Zt() {
	if (qt === void 0) {
		qt = window, Jt = /Firefox/.test(navigator.userAgent);
		var e = Element.prototype, t = Node.prototype, n = Text.prototype;
		Yt = a(t, "firstChild").get, Xt = a(t, "nextSibling").get, u(e) && (e[se] = void 0, e[oe] = null, e[ce] = void 0, e.__e = void 0), u(n) && (n[le] = void 0);
	}
}
function Qt(e = "") {
	return document.createTextNode(e);
}
function $t(e) {
	return Yt.call(e);
}
function en(e) {
	return Xt.call(e);
}
function R(e, t) {
	if (!k) return $t(e);
	var n = $t(A);
	if (n === null) n = A.appendChild(Qt());
	else if (t && n.nodeType !== 3) {
		var r = Qt();
		return n?.before(r), ye(r), r;
	}
	return t && an(n), ye(n), n;
}
function z(e, t = !1) {
	if (!k) {
		var n = $t(e);
		return n instanceof Comment && n.data === "" ? en(n) : n;
	}
	if (t) {
		if (A?.nodeType !== 3) {
			var r = Qt();
			return A?.before(r), ye(r), r;
		}
		an(A);
	}
	return A;
}
function B(e, t = !1) {
	if (!k) return $t(e);
	var n = R(e, t);
	return j(e), n;
}
function V(e, t = 1, n = !1) {
	let r = k ? A : e;
	for (var i; t--;) i = r, r = en(r);
	if (!k) return r;
	if (n) {
		if (r?.nodeType !== 3) {
			var a = Qt();
			return r === null ? i?.after(a) : r.before(a), ye(a), a;
		}
		an(r);
	}
	return ye(r), r;
}
function tn(e) {
	e.textContent = "";
}
function nn() {
	return !1;
}
function rn(e, t, n) {
	return t == null || t === "http://www.w3.org/1999/xhtml" ? n ? document.createElement(e, { is: n }) : document.createElement(e) : n ? document.createElementNS(t, e, { is: n }) : document.createElementNS(t, e);
}
function an(e) {
	if (e.nodeValue.length < 65536) return;
	let t = e.nextSibling;
	for (; t !== null && t.nodeType === 3;) t.remove(), e.nodeValue += t.nodeValue, t = e.nextSibling;
}
function on(e) {
	var t = Ln;
	if (t === null) return Pn.f |= te, e;
	if (!(t.f & 32768) && !(t.f & 4)) throw e;
	sn(e, t);
}
function sn(e, t) {
	if (e === fe) throw e;
	if (!(t !== null && t.f & 16384)) {
		for (; t !== null;) {
			if (t.f & 128 && !(t.f & 33570816)) {
				if (!(t.f & 32768)) throw e;
				try {
					t.b.error(e);
					return;
				} catch (t) {
					e = t;
				}
			}
			t = t.parent;
		}
		throw e;
	}
}
// node_modules/svelte/src/internal/client/reactivity/effects.js
function cn(e) {
	Ln === null && (Pn === null && ke(e), Oe()), Mn && N(e);
}
function ln(e, t) {
	var n = t.last;
	n === null ? t.last = t.first = e : (n.next = e, e.prev = n, t.last = e);
}
function un(e, t) {
	var n = Ln;
	n !== null && n.f & 8192 && (e |= v);
	var r = {
		ctx: Ie,
		deps: null,
		nodes: null,
		f: e | g | 512,
		first: null,
		fn: t,
		last: null,
		next: null,
		parent: n,
		b: n && n.b,
		prev: null,
		teardown: null,
		wv: 0,
		ac: null
	};
	F?.register_created_effect(r);
	var i = r;
	if (e & 4) bt === null ? wt.ensure().schedule(r) : bt.push(r);
	else if (t !== null) {
		try {
			nr(r);
		} catch (e) {
			throw Cn(r), e;
		}
		i.deps === null && i.teardown === null && i.nodes === null && i.first === i.last && !(i.f & 524288) && (i = i.first, e & 16 && e & 65536 && i !== null && (i.f |= S));
	}
	if (i !== null && (i.parent = n, n !== null && ln(i, n), Pn !== null && Pn.f & 2 && !(e & 64))) {
		var a = Pn;
		(a.effects ??= []).push(i);
	}
	return r;
}
function dn() {
	return Pn !== null && !Fn;
}
function fn(e) {
	let t = un(8, null);
	return qe(t, h), t.teardown = e, t;
}
function H(e) {
	cn("$effect");
	var t = Ln.f;
	if (!Pn && t & 32 && Ie !== null && !Ie.i) {
		var n = Ie;
		(n.e ??= []).push(e);
	} else return pn(e);
}
function pn(e) {
	return un(4 | w, e);
}
function mn(e) {
	wt.ensure();
	let t = un(64 | C, e);
	return (e = {}) => new Promise((n) => {
		e.outro ? En(t, () => {
			Cn(t), n(void 0);
		}) : (Cn(t), n(void 0));
	});
}
function hn(e) {
	return un(4, e);
}
function gn(e) {
	return un(E | C, e);
}
function _n(e, t = 0) {
	return un(8 | t, e);
}
function U(e, t = [], n = [], r = []) {
	tt(r, t, n, (t) => {
		un(8, () => {
			e(...t.map(W));
		});
	});
}
function vn(e, t = 0) {
	return un(16 | t, e);
}
function yn(e) {
	return un(32 | C, e);
}
function bn(e) {
	var t = e.teardown;
	if (t !== null) {
		let n = Mn, r = Pn;
		Nn(!0), In(null);
		try {
			t.call(null);
		} catch (t) {
			sn(t, e.parent);
		} finally {
			Nn(n), In(r);
		}
	}
}
function xn(e, t = !1) {
	var n = e.first;
	for (e.first = e.last = null; n !== null;) {
		let e = n.ac;
		e !== null && $e(() => {
			e.abort(de);
		});
		var r = n.next;
		n.f & 64 ? n.parent = null : Cn(n, t), n = r;
	}
}
function Sn(e) {
	for (var t = e.first; t !== null;) {
		var n = t.next;
		t.f & 32 || Cn(t), t = n;
	}
}
function Cn(e, t = !0) {
	var n = !1;
	(t || e.f & 262144) && e.nodes !== null && e.nodes.end !== null && (wn(e.nodes.start, e.nodes.end), n = !0), e.f |= x, xn(e, t && !n), tr(e, 0);
	var r = e.nodes && e.nodes.t;
	if (r !== null) for (let e of r) e.stop();
	bn(e), e.f ^= x, e.f |= y;
	var i = e.parent;
	i !== null && i.first !== null && Tn(e), e.next = e.prev = e.teardown = e.ctx = e.deps = e.fn = e.nodes = e.ac = e.b = null;
}
function wn(e, t) {
	for (; e !== null;) {
		var n = e === t ? null : en(e);
		e.remove(), e = n;
	}
}
function Tn(e) {
	var t = e.parent, n = e.prev, r = e.next;
	n !== null && (n.next = r), r !== null && (r.prev = n), t !== null && (t.first === e && (t.first = r), t.last === e && (t.last = n));
}
function En(e, t, n = !0) {
	var r = [];
	e.f |= 256, Dn(e, r, !0);
	var i = () => {
		n && Cn(e), t && t();
	}, a = r.length;
	if (a > 0) {
		var o = () => --a || i();
		for (var s of r) s.out(o);
	} else i();
}
function Dn(e, t, n) {
	if (!(e.f & 8192)) {
		e.f ^= v;
		var r = e.nodes && e.nodes.t;
		if (r !== null) for (let e of r) (e.is_global || n) && t.push(e);
		for (var i = e.first; i !== null;) {
			var a = i.next;
			if (!(i.f & 64)) {
				var o = !!(i.f & 65536) || !!(i.f & 32) && !!(e.f & 16);
				Dn(i, t, o ? n : !1);
			}
			i = a;
		}
	}
}
function On(e) {
	e.f &= -257, kn(e, !0);
}
function kn(e, t) {
	if (!(e.f & 256) && e.f & 8192) {
		e.f ^= v, e.f & 1024 || (qe(e, g), wt.ensure().schedule(e));
		for (var n = e.first; n !== null;) {
			var r = n.next, i = !!(n.f & 65536) || !!(n.f & 32);
			kn(n, i ? t : !1), n = r;
		}
		var a = e.nodes && e.nodes.t;
		if (a !== null) for (let e of a) (e.is_global || t) && e.in();
	}
}
function An(e, t) {
	if (e.nodes) for (var n = e.nodes.start, r = e.nodes.end; n !== null;) {
		var i = n === r ? null : en(n);
		t.append(n), n = i;
	}
}
// node_modules/svelte/src/internal/client/legacy.js
var jn = null, Mn = !1;
function Nn(e) {
	Mn = e;
}
var Pn = null, Fn = !1;
function In(e) {
	Pn = e;
}
var Ln = null;
function Rn(e) {
	Ln = e;
}
var zn = null;
function Bn(e) {
	Pn !== null && (Pn.f & 2097152 || Pn.f & 2) && (zn ??= new Set()).add(e);
}
var Vn = null, Hn = 0, Un = null;
function Wn(e) {
	Un = e;
}
var Gn = 1, Kn = 0, qn = Kn;
function Jn(e) {
	qn = e;
}
function Yn() {
	return ++Gn;
}
function Xn(e) {
	var t = e.f;
	if (t & 2048) return !0;
	if (t & 4096) {
		for (var n = e.deps, r = n.length, i = 0; i < r; i++) {
			var a = n[i];
			if (Xn(a) && dt(a), a.wv > e.wv) return !0;
		}
		t & 512 && gt === null && qe(e, h);
	}
	return !1;
}
function Zn(e, t, n = !0) {
	var r = e.reactions;
	if (r !== null && !(zn !== null && zn.has(e))) for (var i = 0; i < r.length; i++) {
		var a = r[i];
		a.f & 2 ? Zn(a, t, !1) : t === a && (n ? qe(a, g) : a.f & 1024 && qe(a, _), kt(a));
	}
}
function Qn(e) {
	var t = Vn, n = Hn, r = Un, i = Pn, a = zn, o = Ie, s = Fn, c = qn, l = e.f;
	Vn = null, Hn = 0, Un = null, Pn = l & 96 ? null : e, zn = null, Le(e.ctx), Fn = !1, qn = ++Kn, e.ac !== null && ($e(() => {
		e.ac.abort(de);
	}), e.ac = null);
	try {
		e.f |= T;
		var u = e.fn, d = u();
		e.f |= b;
		var f = $n(e);
		if (Ve() && Un !== null && !Fn && f !== null && !(e.f & 6146)) for (var p = 0; p < Un.length; p++) Zn(Un[p], e);
		if (i !== null && i !== e) {
			if (Kn++, i.deps !== null) for (let e = 0; e < n; e += 1) i.deps[e].rv = Kn;
			if (t !== null) for (let e of t) e.rv = Kn;
			Un !== null && (r === null ? r = Un : r.push(...Un));
		}
		return e.f & 8388608 && (e.f ^= te), d;
	} catch (t) {
		return $n(e), on(t);
	} finally {
		e.f ^= T, Vn = t, Hn = n, Un = r, Pn = i, zn = a, Le(o), Fn = s, qn = c;
	}
}
function $n(e) {
	var t = e.deps, n = F?.is_fork;
	if (Vn !== null) {
		var r;
		if (n || tr(e, Hn), t !== null && Hn > 0) for (t.length = Hn + Vn.length, r = 0; r < Vn.length; r++) t[Hn + r] = Vn[r];
		else e.deps = t = Vn;
		if (dn() && e.f & 512) for (r = Hn; r < t.length; r++) (t[r].reactions ??= []).push(e);
	} else !n && t !== null && Hn < t.length && (tr(e, Hn), t.length = Hn);
	return t;
}
function er(e, r) {
	let i = r.reactions;
	if (i !== null) {
		var a = t.call(i, e);
		if (a !== -1) {
			var o = i.length - 1;
			o === 0 ? i = r.reactions = null : (i[a] = i[o], i.pop());
		}
	}
	if (i === null && r.f & 2 && (Vn === null || !n.call(Vn, r))) {
		var s = r;
		s.f & 512 && (s.f ^= 512), s.v !== O && Je(s), s.ac !== null && $e(() => {
			s.ac.abort(de), s.ac = null, qe(s, g);
		}), ft(s), tr(s, 0);
	}
}
function tr(e, t) {
	var n = e.deps;
	if (n !== null) for (var r = t; r < n.length; r++) er(e, n[r]);
}
function nr(e) {
	var t = e.f;
	if (!(t & 16384)) {
		qe(e, h);
		var n = Ln;
		Ln = e;
		try {
			t & 16777232 ? Sn(e) : xn(e), bn(e);
			var r = Qn(e);
			e.teardown = typeof r == "function" ? r : null, e.wv = Gn;
		} finally {
			Ln = n;
		}
	}
}
async function rr() {
	await Promise.resolve(), Tt();
}
function W(e) {
	var t = !!(e.f & 2);
	if (jn?.add(e), Pn !== null && !Fn && !(Ln !== null && Ln.f & 16384) && (zn === null || !zn.has(e))) {
		var r = Pn.deps;
		if (Pn.f & 2097152) e.rv < Kn && (e.rv = Kn, Vn === null && r !== null && r[Hn] === e ? Hn++ : Vn === null ? Vn = [e] : Vn.push(e));
		else {
			Pn.deps ??= [], n.call(Pn.deps, e) || Pn.deps.push(e);
			var i = e.reactions;
			i === null ? e.reactions = [Pn] : n.call(i, Pn) || i.push(Pn);
		}
	}
	if (Mn && Nt.has(e)) return Nt.get(e);
	if (t) {
		var a = e;
		if (Mn) {
			var o = a.v;
			return (!(a.f & 1024) && a.reactions !== null || ar(a)) && (o = ut(a)), Nt.set(a, o), o;
		}
		var s = !(a.f & 512) && !Fn && Pn !== null && !!(Pn.f & 512), c = (a.f & b) === 0;
		Xn(a) && (s && (a.f |= 512), dt(a)), s && !c && (pt(a), ir(a));
	}
	if (gt?.has(e)) return gt.get(e);
	if (e.f & 8388608) throw e.v;
	return e.v;
}
function ir(e) {
	if (e.f |= 512, e.deps !== null) for (let r of e.deps) {
		var t = r.reactions;
		t === null ? r.reactions = [e] : n.call(t, e) || t.push(e), r.f & 2 && !(r.f & 512) && (pt(r), ir(r));
	}
}
function ar(e) {
	if (e.v === O) return !0;
	if (e.deps === null) return !1;
	for (let t of e.deps) if (Nt.has(t) || t.f & 2 && ar(t)) return !0;
	return !1;
}
function or(e) {
	var t = Fn;
	try {
		return Fn = !0, e();
	} finally {
		Fn = t;
	}
}
[..."allowfullscreen.async.autofocus.autoplay.checked.controls.default.disabled.formnovalidate.indeterminate.inert.ismap.loop.multiple.muted.nomodule.novalidate.open.playsinline.readonly.required.reversed.seamless.selected.webkitdirectory.defer.disablepictureinpicture.disableremoteplayback".split(".")];
var sr = ["touchstart", "touchmove"];
function cr(e) {
	return sr.includes(e);
}
// node_modules/svelte/src/internal/client/dom/elements/events.js
var lr = Symbol("events"), ur = new Set(), dr = new Set();
function fr(e) {
	if (!k) return;
	e.removeAttribute("onload"), e.removeAttribute("onerror");
	let t = e.__e;
	t !== void 0 && (e.__e = void 0, queueMicrotask(() => {
		e.isConnected && e.dispatchEvent(t);
	}));
}
function pr(e, t, n, r = {}) {
	function i(e) {
		if (r.capture || vr.call(t, e), !e.cancelBubble) return $e(() => n?.call(this, e));
	}
	return e.startsWith("pointer") || e.startsWith("touch") || e === "wheel" ? (i.__removed = !1, We(() => {
		i.__removed || t.addEventListener(e, i, r);
	})) : t.addEventListener(e, i, r), i;
}
function mr(e, t, n, r, i) {
	var a = {
		capture: r,
		passive: i
	}, o = pr(e, t, n, a);
	(t === document.body || t === window || t === document || t instanceof HTMLMediaElement) && fn(() => {
		o.__removed = !0, t.removeEventListener(e, o, a);
	});
}
function G(e, t, n) {
	(t[lr] ??= {})[e] = n;
}
function hr(e) {
	for (var t = 0; t < e.length; t++) ur.add(e[t]);
	for (var n of dr) n(e);
}
var gr = null, _r = !1;
function vr(e) {
	var t = this, n = t.ownerDocument, r = e.type, a = e.composedPath?.() || [], o = a[0] || e.target;
	gr = e, _r || (_r = !0, setTimeout(() => {
		_r = !1, gr = null;
	}));
	var s = 0, c = gr === e && e[lr];
	if (c) {
		var l = a.indexOf(c);
		if (l !== -1 && (t === document || t === window)) {
			e[lr] = t;
			return;
		}
		var u = a.indexOf(t);
		if (u === -1) return;
		l <= u && (s = l);
	}
	if (o = a[s] || e.target, o !== t) {
		i(e, "currentTarget", {
			configurable: !0,
			get() {
				return o || n;
			}
		});
		var d = Pn, f = Ln;
		In(null), Rn(null);
		try {
			for (var p, m = []; o !== null && o !== t;) {
				try {
					var h = o[lr]?.[r];
					h == null || o.disabled && e.target !== o || h.call(o, e);
				} catch (e) {
					p ? m.push(e) : p = e;
				}
				if (e.cancelBubble) break;
				s++, o = s < a.length ? a[s] : null;
			}
			if (p) {
				for (let e of m) queueMicrotask(() => {
					throw e;
				});
				throw p;
			}
		} finally {
			e[lr] = t, delete e.currentTarget, In(d), Rn(f);
		}
	}
}
// node_modules/svelte/src/internal/client/dom/reconciler.js
var yr = globalThis?.window?.trustedTypes && globalThis.window.trustedTypes.createPolicy("svelte-trusted-html", { createHTML: (e) => e });
function br(e) {
	return yr?.createHTML(e) ?? e;
}
function xr(e) {
	var t = rn("template");
	return t.innerHTML = br(e.replaceAll("<!>", "<!---->")), t.content;
}
// node_modules/svelte/src/internal/client/dom/template.js
function Sr(e, t) {
	var n = Ln;
	n.nodes === null && (n.nodes = {
		start: e,
		end: t,
		a: null,
		t: null
	});
}
function K(e, t) {
	var n = !!(t & 1), r = !!(t & 2), i, a = !e.startsWith("<!>");
	return () => {
		if (k) return Sr(A, null), A;
		i === void 0 && (i = xr(a ? e : "<!>" + e), n || (i = $t(i)));
		var t = r || Jt ? document.importNode(i, !0) : i.cloneNode(!0);
		if (n) {
			var o = $t(t), s = t.lastChild;
			Sr(o, s);
		} else Sr(t, t);
		return t;
	};
}
function Cr(e, t, n = "svg") {
	var r = !e.startsWith("<!>"), i = !!(t & 1), a = `<${n}>${r ? e : "<!>" + e}</${n}>`, o;
	return () => {
		if (k) return Sr(A, null), A;
		if (!o) {
			var e = $t(xr(a));
			if (i) for (o = document.createDocumentFragment(); $t(e);) o.appendChild($t(e));
			else o = $t(e);
		}
		var t = o.cloneNode(!0);
		if (i) {
			var n = $t(t), r = t.lastChild;
			Sr(n, r);
		} else Sr(t, t);
		return t;
	};
}
function wr(e, t) {
	return Cr(e, t, "svg");
}
function Tr(e = "") {
	if (!k) {
		var t = Qt(e + "");
		return Sr(t, t), t;
	}
	var n = A;
	return n.nodeType === 3 ? an(n) : (n.before(n = Qt()), ye(n)), Sr(n, n), n;
}
function Er() {
	if (k) return Sr(A, null), A;
	var e = document.createDocumentFragment(), t = document.createComment(""), n = Qt();
	return e.append(t, n), Sr(t, n), e;
}
function q(e, t) {
	if (k) {
		var n = Ln;
		n.f & 32768 && n.nodes.end !== null || (n.nodes.end = A), be();
	} else e !== null && e.before(t);
}
// node_modules/svelte/src/reactivity/create-subscriber.js
function Dr(e) {
	let t = 0, n = Ft(0), r;
	return () => {
		dn() && (W(n), _n(() => (t === 0 && (r = or(() => e(() => Ht(n)))), t += 1, () => {
			We(() => {
				--t, t === 0 && (r?.(), r = void 0, Ht(n));
			});
		})));
	};
}
// node_modules/svelte/src/internal/client/dom/blocks/boundary.js
var Or = S | C;
function kr(e, t, n, r) {
	new Ar(e, t, n, r);
}
var Ar = class {
	parent;
	is_pending = !1;
	transform_error;
	#e;
	#t = k ? A : null;
	#n;
	#r;
	#i;
	#a = null;
	#o = null;
	#s = null;
	#c = null;
	#l = 0;
	#u = 0;
	#d = !1;
	#f = new Map();
	#p = null;
	#m = Dr(() => (this.#p = Ft(this.#l), () => {
		this.#p = null;
	}));
	constructor(e, t, n, r) {
		this.#e = e, this.#n = t, this.#r = (e) => {
			var t = Ln;
			t.b = this, t.f |= 128, n(e);
		}, this.parent = Ln.b, this.transform_error = r ?? this.parent?.transform_error ?? ((e) => e), this.#i = vn(() => {
			if (k) {
				let e = Ce(this.#t);
				be();
				let t = e === "[!";
				if (e.startsWith("[?")) {
					let t = JSON.parse(e.slice(2));
					this.#g(t);
				} else t ? this.#y() : this.#h();
			} else this.#b();
		}, Or), k && (this.#e = A);
	}
	#h() {
		try {
			this.#a = yn(() => this.#r(this.#e));
		} catch (e) {
			this.error(e);
		}
	}
	#g(e) {
		let t = this.#n.failed, { reset: n, invoke_onerror: r } = this.#_(e);
		We(r), t && (this.#s = yn(() => {
			t(this.#e, () => e, () => n);
		}));
	}
	#_(e) {
		var t = !1, n = !1;
		let r = () => {
			this.#v() || (t ? _e() : (t = !0, n && Fe(), this.#s !== null && En(this.#s, () => {
				this.#s = null;
			}), this.#S(() => {
				this.#b();
			})));
		};
		return {
			reset: r,
			invoke_onerror: () => {
				if (!this.#v()) try {
					n = !0, this.#n.onerror?.(e, r), n = !1;
				} catch (e) {
					sn(e, this.#i && this.#i.parent);
				}
			}
		};
	}
	#v() {
		return (this.#i.f & (y | x)) !== 0;
	}
	#y() {
		let e = this.#n.pending;
		e && (this.is_pending = !0, this.#o = yn(() => e(this.#e)), We(() => {
			if (!this.#v()) {
				var e = this.#c = document.createDocumentFragment(), t = Qt(), n = !1;
				e.append(t), this.#a = this.#S(() => {
					try {
						return yn(() => this.#r(t));
					} catch (e) {
						try {
							this.error(e), n = !0;
						} catch (e) {
							sn(e, this.#i.parent);
						}
						return null;
					}
				}), this.#a === null ? (this.#c = null, n && this.#x(F)) : this.#u === 0 && (this.#e.before(e), this.#c = null, En(this.#o, () => {
					this.#o = null;
				}), this.#x(F));
			}
		}));
	}
	#b() {
		try {
			if (this.is_pending = this.has_pending_snippet(), this.#u = 0, this.#l = 0, this.#a = yn(() => {
				this.#r(this.#e);
			}), this.#u > 0) {
				var e = this.#c = document.createDocumentFragment();
				An(this.#a, e);
				let t = this.#n.pending;
				this.#o = yn(() => t(this.#e));
			} else this.#x(F);
		} catch (e) {
			this.error(e);
		}
	}
	#x(e) {
		this.is_pending = !1, e.transfer_reactions(this.#f);
	}
	defer_effect(e) {
		Ye(e, this.#f);
	}
	is_rendered() {
		return !this.is_pending && (!this.parent || this.parent.is_rendered());
	}
	has_pending_snippet() {
		return !!this.#n.pending;
	}
	#S(e) {
		var t = Ln, n = Pn, r = Ie;
		Rn(this.#i), In(this.#i), Le(this.#i.ctx);
		try {
			return wt.ensure(), e();
		} finally {
			Rn(t), In(n), Le(r);
		}
	}
	#C(e, t) {
		this.has_pending_snippet() ? (this.#u += e, this.#u === 0 && (this.#x(t), this.#o && En(this.#o, () => {
			this.#o = null;
		}), this.#c &&= (this.#e.before(this.#c), null))) : this.parent && this.parent.#C(e, t);
	}
	update_pending_count(e, t) {
		this.#C(e, t), this.#l += e, !this.#p || this.#d || (this.#d = !0, We(() => {
			this.#d = !1, this.#p && zt(this.#p, this.#l);
		}));
	}
	get_effect_pending() {
		return this.#m(), W(this.#p);
	}
	error(e) {
		if (e === fe || !this.#n.onerror && !this.#n.failed) throw e;
		F?.is_fork ? (this.#a && F.skip_effect(this.#a), this.#o && F.skip_effect(this.#o), this.#s && F.skip_effect(this.#s), F.oncommit(() => {
			this.#v() || this.#w(e);
		})) : this.#w(e);
	}
	#w(e) {
		this.#a &&= (Cn(this.#a), null), this.#o &&= (Cn(this.#o), null), this.#s &&= (Cn(this.#s), null), k && (ye(this.#t), xe(), ye(Se()));
		let t = this.#n.failed, n = (e) => {
			if (this.#v()) return;
			let { reset: n, invoke_onerror: r } = this.#_(e);
			r(), t && !this.#v() && (this.#s = this.#S(() => {
				try {
					return yn(() => {
						var r = Ln;
						r.b = this, r.f |= 128, t(this.#e, () => e, () => n);
					});
				} catch (e) {
					return sn(e, this.#i.parent), null;
				}
			}));
		};
		We(() => {
			if (!this.#v()) {
				var t;
				try {
					t = this.transform_error(e);
				} catch (e) {
					sn(e, this.#i && this.#i.parent);
					return;
				}
				typeof t == "object" && t && typeof t.then == "function" ? t.then(n, (e) => sn(e, this.#i && this.#i.parent)) : n(t);
			}
		});
	}
};
function J(e, t) {
	var n = t == null ? "" : typeof t == "object" ? `${t}` : t;
	n !== (e[le] ??= e.nodeValue) && (e[le] = n, e.nodeValue = `${n}`);
}
function jr(e, t) {
	return Nr(e, t);
}
var Mr = new Map();
function Nr(e, { target: t, anchor: n, props: i = {}, events: a, context: o, intro: s = !0, transformError: c }) {
	Zt();
	var l = void 0, u = mn(() => {
		var s = n ?? t.appendChild(Qt());
		kr(s, { pending: () => {} }, (t) => {
			Re({});
			var n = Ie;
			if (o && (n.c = o), a && (i.$$events = a), k && Sr(t, null), l = e(t, i) || Be(), k && (Ln.nodes.end = A, A === null || A.nodeType !== 8 || A.data !== "]")) throw he(), fe;
			ze();
		}, c);
		var u = new Set(), d = (e) => {
			for (var n = 0; n < e.length; n++) {
				var r = e[n];
				if (!u.has(r)) {
					u.add(r);
					var i = cr(r);
					for (let e of [t, document]) {
						var a = Mr.get(e);
						a === void 0 && (a = new Map(), Mr.set(e, a));
						var o = a.get(r);
						o === void 0 ? (e.addEventListener(r, vr, { passive: i }), a.set(r, 1)) : a.set(r, o + 1);
					}
				}
			}
		};
		return d(r(ur)), dr.add(d), () => {
			for (var e of u) for (let n of [t, document]) {
				var r = Mr.get(n), i = r.get(e);
				--i == 0 ? (n.removeEventListener(e, vr), r.delete(e), r.size === 0 && Mr.delete(n)) : r.set(e, i);
			}
			dr.delete(d), s !== n && s.parentNode?.removeChild(s);
		};
	});
	return Pr.set(l, u), l;
}
var Pr = new WeakMap(), Fr = class {
	anchor;
	#e = new Map();
	#t = new Map();
	#n = new Map();
	#r = new Set();
	#i = !0;
	constructor(e, t = !0) {
		this.anchor = e, this.#i = t;
	}
	#a = (e) => {
		if (this.#e.has(e)) {
			var t = this.#e.get(e), n = this.#t.get(t);
			if (n) On(n), this.#r.delete(t);
			else {
				var r = this.#n.get(t);
				r && (On(r.effect), this.#t.set(t, r.effect), this.#n.delete(t), r.fragment.lastChild.remove(), this.anchor.before(r.fragment), n = r.effect);
			}
			for (let [t, n] of this.#e) {
				if (this.#e.delete(t), t === e) break;
				let r = this.#n.get(n);
				r && (Cn(r.effect), this.#n.delete(n));
			}
			for (let [e, r] of this.#t) {
				if (e === t || this.#r.has(e)) continue;
				let i = () => {
					if (Array.from(this.#e.values()).includes(e)) {
						var t = document.createDocumentFragment();
						An(r, t), t.append(Qt()), this.#n.set(e, {
							effect: r,
							fragment: t
						});
					} else Cn(r);
					this.#r.delete(e), this.#t.delete(e);
				};
				this.#i || !n ? (this.#r.add(e), En(r, i, !1)) : i();
			}
		}
	};
	#o = (e) => {
		this.#e.delete(e);
		let t = Array.from(this.#e.values());
		for (let [e, n] of this.#n) t.includes(e) || (Cn(n.effect), this.#n.delete(e));
	};
	ensure(e, t) {
		var n = F, r = nn();
		if (t && !this.#t.has(e) && !this.#n.has(e)) {
			if (r) {
				var i = document.createDocumentFragment(), a = Qt();
				i.append(a), this.#n.set(e, {
					effect: yn(() => t(a)),
					fragment: i
				});
			} else this.#t.set(e, yn(() => t(this.anchor)));
		}
		if (this.#e.set(n, e), r) {
			for (let [t, r] of this.#t) t === e ? n.unskip_effect(r) : n.skip_effect(r);
			for (let [t, r] of this.#n) t === e ? n.unskip_effect(r.effect) : n.skip_effect(r.effect);
			n.oncommit(this.#a), n.ondiscard(this.#o);
		} else k && (this.anchor = A), this.#a(n);
	}
};
// node_modules/svelte/src/internal/client/dom/blocks/if.js
function Y(e, t, n = !1) {
	var r;
	k && (r = A, be());
	var i = new Fr(e), a = n ? S : 0;
	function o(e, t) {
		if (k) {
			var n = Ce(r);
			if (e !== parseInt(n.substring(1))) {
				var a = Se();
				ye(a), i.anchor = a, ve(!1), i.ensure(e, t), ve(!0);
				return;
			}
		}
		i.ensure(e, t);
	}
	vn(() => {
		var e = !1;
		t((t, n = 0) => {
			e = !0, o(n, t);
		}), e || o(-1, null);
	}, a);
}
// node_modules/svelte/src/internal/client/dom/blocks/key.js
var Ir = Symbol("NaN");
function Lr(e, t, n) {
	k && be();
	var r = new Fr(e), i = !Ve();
	vn(() => {
		var e = t();
		e !== e && (e = Ir), i && typeof e == "object" && e && (e = {}), r.ensure(e, n);
	});
}
// node_modules/svelte/src/internal/client/dom/blocks/each.js
function Rr(e, t) {
	return t;
}
function zr(e, t, n) {
	for (var i = [], a = t.length, o, s = t.length, c = 0; c < a; c++) {
		let n = t[c];
		En(n, () => {
			if (o) {
				if (o.pending.delete(n), o.done.add(n), o.pending.size === 0) {
					var t = e.outrogroups;
					Br(e, r(o.done)), t.delete(o), t.size === 0 && (e.outrogroups = null);
				}
			} else --s;
		}, !1);
	}
	if (s === 0) {
		var l = i.length === 0 && n !== null && e.pending.size === 0;
		if (l) {
			var u = n, d = u.parentNode;
			tn(d), d.append(u), e.items.clear();
		}
		Br(e, t, !l);
	} else o = {
		pending: new Set(t),
		done: new Set()
	}, (e.outrogroups ??= new Set()).add(o);
}
function Br(e, t, n = !0) {
	var r;
	if (e.pending.size > 0) {
		r = new Set();
		for (let t of e.pending.values()) for (let n of t) r.add(e.items.get(n).e);
	}
	for (var i = 0; i < t.length; i++) {
		var a = t[i];
		r?.has(a) ? (a.f |= ee, An(a, document.createDocumentFragment())) : Cn(t[i], n);
	}
}
var Vr;
function X(t, n, i, a, o, s = null) {
	var c = t, l = new Map();
	if (n & 4) {
		var u = t;
		c = k ? ye($t(u)) : u.appendChild(Qt());
	}
	k && be();
	var d = null, f = ct(() => {
		var t = i();
		return e(t) ? t : t == null ? [] : r(t);
	}), p = new Map(), m = !0;
	function h(e) {
		if (!(_.effect.f & 16384)) {
			_.pending.delete(e);
			var t = W(f);
			_.fallback = d, Ur(_, t, c, n, a), d !== null && (t.length === 0 ? d.f & 33554432 ? (d.f ^= ee, Gr(d, null, c)) : On(d) : En(d, () => {
				d = null;
			}));
		}
	}
	function g(e) {
		_.pending.delete(e);
	}
	var _ = {
		effect: vn(() => {
			var e = W(f), t = e.length;
			let r = !1;
			k && Ce(c) === "[!" != (t === 0) && (c = Se(), ye(c), ve(!1), r = !0);
			for (var u = new Set(), _ = F, v = nn(), y = 0; y < t; y += 1) {
				k && A.nodeType === 8 && A.data === "]" && (c = A, r = !0, ve(!1));
				var b = e[y], x = a(b, y), S = m ? null : l.get(x);
				S ? (S.v && zt(S.v, b), S.i && zt(S.i, y), v && _.unskip_effect(S.e)) : (S = Wr(l, m ? c : Vr ??= Qt(), b, x, y, o, n, i), m || (S.e.f |= ee), l.set(x, S)), u.add(x);
			}
			if (t === 0 && s && !d && (m ? d = yn(() => s(c)) : (d = yn(() => s(Vr ??= Qt())), d.f |= ee)), t > u.size && M("", "", ""), k && t > 0 && ye(Se()), !m) {
				if (p.set(_, u), v) {
					for (let [e, t] of l) u.has(e) || _.skip_effect(t.e);
					_.oncommit(h), _.ondiscard(g);
				} else h(_);
			}
			r && ve(!0), W(f);
		}),
		flags: n,
		items: l,
		pending: p,
		outrogroups: null,
		fallback: d
	};
	m = !1, k && (c = A);
}
function Hr(e) {
	for (; e !== null && !(e.f & 32);) e = e.next;
	return e;
}
function Ur(e, t, n, i, a) {
	var o = !!(i & 8), s = t.length, c = e.items, l = Hr(e.effect.first), u, d = null, f, p = [], m = [], h, g, _, v;
	if (o) for (v = 0; v < s; v += 1) h = t[v], g = a(h, v), _ = c.get(g).e, _.f & 33554432 || (_.nodes?.a?.measure(), (f ??= new Set()).add(_));
	for (v = 0; v < s; v += 1) {
		if (h = t[v], g = a(h, v), _ = c.get(g).e, e.outrogroups !== null) for (let t of e.outrogroups) t.pending.delete(_), t.done.delete(_);
		if (_.f & 8192 && (On(_), o && (_.nodes?.a?.unfix(), (f ??= new Set()).delete(_))), _.f & 33554432) {
			if (_.f ^= ee, _ === l) Gr(_, null, n);
			else {
				var y = d ? d.next : l;
				_ === e.effect.last && (e.effect.last = _.prev), _.prev && (_.prev.next = _.next), _.next && (_.next.prev = _.prev), Kr(e, d, _), Kr(e, _, y), Gr(_, y, n), d = _, p = [], m = [], l = Hr(d.next);
				continue;
			}
		}
		if (_ !== l) {
			if (u !== void 0 && u.has(_)) {
				if (p.length < m.length) {
					var b = m[0], x;
					d = b.prev;
					var S = p[0], C = p[p.length - 1];
					for (x = 0; x < p.length; x += 1) Gr(p[x], b, n);
					for (x = 0; x < m.length; x += 1) u.delete(m[x]);
					Kr(e, S.prev, C.next), Kr(e, d, S), Kr(e, C, b), l = b, d = C, --v, p = [], m = [];
				} else u.delete(_), Gr(_, l, n), Kr(e, _.prev, _.next), Kr(e, _, d === null ? e.effect.first : d.next), Kr(e, d, _), d = _;
				continue;
			}
			for (p = [], m = []; l !== null && l !== _;) (u ??= new Set()).add(l), m.push(l), l = Hr(l.next);
			if (l === null) continue;
		}
		_.f & 33554432 || p.push(_), d = _, l = Hr(_.next);
	}
	if (e.outrogroups !== null) {
		for (let t of e.outrogroups) t.pending.size === 0 && (Br(e, r(t.done)), e.outrogroups?.delete(t));
		e.outrogroups.size === 0 && (e.outrogroups = null);
	}
	if (l !== null || u !== void 0) {
		var w = [];
		if (u !== void 0) for (_ of u) _.f & 8192 || w.push(_);
		for (; l !== null;) !(l.f & 8192) && l !== e.fallback && w.push(l), l = Hr(l.next);
		var T = w.length;
		if (T > 0) {
			var E = i & 4 && s === 0 ? n : null;
			if (o) {
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.measure();
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.fix();
			}
			zr(e, w, E);
		}
	}
	o && We(() => {
		if (f !== void 0) for (_ of f) _.nodes?.a?.apply();
	});
}
function Wr(e, t, n, r, i, a, o, s) {
	var c = o & 1 ? o & 16 ? Ft(n) : It(n, !1, !1) : null, l = o & 2 ? Ft(i) : null;
	return {
		v: c,
		i: l,
		e: yn(() => (a(t, c ?? n, l ?? i, s), () => {
			e.delete(r);
		}))
	};
}
function Gr(e, t, n) {
	if (e.nodes) for (var r = e.nodes.start, i = e.nodes.end, a = t && !(t.f & 33554432) ? t.nodes.start : n; r !== null;) {
		var o = en(r);
		if (a.before(r), r === i) return;
		r = o;
	}
}
function Kr(e, t, n) {
	t === null ? e.effect.first = n : t.next = n, n === null ? e.effect.last = t : n.prev = t;
}
// node_modules/svelte/src/internal/shared/attributes.js
var qr = [..." 	\n\r\f\xA0\v﻿"];
function Jr(e, t, n) {
	var r = e == null ? "" : "" + e;
	if (t && (r = r ? r + " " + t : t), n) {
		for (var i of Object.keys(n)) if (n[i]) r = r ? r + " " + i : i;
		else if (r.length) for (var a = i.length, o = 0; (o = r.indexOf(i, o)) >= 0;) {
			var s = o + a;
			(o === 0 || qr.includes(r[o - 1])) && (s === r.length || qr.includes(r[s])) ? r = (o === 0 ? "" : r.substring(0, o)) + r.substring(s + 1) : o = s;
		}
	}
	return r === "" ? null : r;
}
function Yr(e, t = !1) {
	var n = t ? " !important;" : ";", r = "";
	for (var i of Object.keys(e)) {
		var a = e[i];
		a != null && a !== "" && (r += " " + i + ": " + a + n);
	}
	return r;
}
function Xr(e) {
	return e[0] !== "-" || e[1] !== "-" ? e.toLowerCase() : e;
}
function Zr(e, t) {
	if (t) {
		var n = "", r, i;
		if (Array.isArray(t) ? (r = t[0], i = t[1]) : r = t, e) {
			e = String(e).replaceAll(/\/\*.*?\*\//g, "").trim();
			var a = !1, o = 0, s = !1, c = [];
			r && c.push(...Object.keys(r).map(Xr)), i && c.push(...Object.keys(i).map(Xr));
			var l = 0, u = -1;
			let t = e.length;
			for (var d = 0; d < t; d++) {
				var f = e[d];
				if (s ? f === "/" && e[d - 1] === "*" && (s = !1) : a ? a === f && (a = !1) : f === "/" && e[d + 1] === "*" ? s = !0 : f === "\"" || f === "'" ? a = f : f === "(" ? o++ : f === ")" && o--, !s && a === !1 && o === 0) {
					if (f === ":" && u === -1) u = d;
					else if (f === ";" || d === t - 1) {
						if (u !== -1) {
							var p = Xr(e.substring(l, u).trim());
							if (!c.includes(p)) {
								f !== ";" && d++;
								var m = e.substring(l, d).trim();
								n += " " + m + ";";
							}
						}
						l = d + 1, u = -1;
					}
				}
			}
		}
		return r && (n += Yr(r)), i && (n += Yr(i, !0)), n = n.trim(), n === "" ? null : n;
	}
	return e == null ? null : String(e);
}
// node_modules/svelte/src/internal/client/dom/elements/class.js
function Qr(e, t, n, r, i, a) {
	var o = e[se];
	if (k || o !== n || o === void 0) {
		var s = Jr(n, r, a);
		k && s === e.getAttribute("class") || (s == null ? e.removeAttribute("class") : t ? e.className = s : e.setAttribute("class", s)), e[se] = n;
	} else if (a && i !== a) for (var c in a) {
		var l = !!a[c];
		(i == null || l !== !!i[c]) && e.classList.toggle(c, l);
	}
	return a;
}
// node_modules/svelte/src/internal/client/dom/elements/style.js
function $r(e, t = {}, n, r) {
	for (var i in n) {
		var a = n[i];
		t[i] !== a && (n[i] == null ? e.style.removeProperty(i) : e.style.setProperty(i, a, r));
	}
}
function ei(e, t, n, r) {
	var i = e[ce];
	if (k || i !== t) {
		var a = Zr(t, r);
		k && a === e.getAttribute("style") || (a == null ? e.removeAttribute("style") : e.style.cssText = a), e[ce] = t;
	} else r && (Array.isArray(r) ? ($r(e, n?.[0], r[0]), $r(e, n?.[1], r[1], "important")) : $r(e, n, r));
	return r;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/select.js
function ti(e, t) {
	t ? e.hasAttribute("selected") || e.setAttribute("selected", "") : e.removeAttribute("selected");
}
function ni(t, n) {
	var r = t.__defaultValue, i = t.multiple, a = i ? r ?? [] : null;
	if (!i || e(a)) {
		var o = t.selectedIndex, s = n && i ? new Set(t.selectedOptions) : null;
		for (var c of t.options) {
			var l = ai(c);
			ti(c, i ? a.includes(l) : Kt(l, r));
		}
		if (n) {
			if (s !== null) for (c of t.options) {
				var u = s.has(c);
				c.selected !== u && (c.selected = u);
			}
			else t.selectedIndex !== o && (t.selectedIndex = o);
		}
	}
}
function ri(t, n, r = !1) {
	if (t.multiple) {
		if (n == null) return;
		if (!e(n)) return ge();
		for (var i of t.options) i.selected = n.includes(ai(i));
	} else {
		for (i of t.options) if (Kt(ai(i), n)) {
			i.selected = !0;
			return;
		}
		r && n === void 0 || (t.selectedIndex = -1);
	}
}
function ii(e) {
	var t = new MutationObserver((t) => {
		t.every(oi) || ("__defaultValue" in e && ni(e, !1), "__value" in e && ri(e, e.__value));
	});
	t.observe(e, {
		childList: !0,
		subtree: !0,
		attributes: !0,
		attributeFilter: ["value"]
	}), fn(() => {
		t.disconnect();
	});
}
function ai(e) {
	return "__value" in e ? e.__value : e.value;
}
function oi(e) {
	if (e.target.closest("selectedcontent") !== null) return !0;
	if (e.type === "childList") {
		var t = [...e.addedNodes, ...e.removedNodes];
		return t.length > 0 && t.every((e) => e.nodeName === "SELECTEDCONTENT");
	}
	return !1;
}
// node_modules/svelte/src/internal/client/dom/elements/attributes.js
var si = Symbol("is custom element"), ci = Symbol("is html"), li = D ? "link" : "LINK", ui = D ? "progress" : "PROGRESS";
function di(e) {
	if (k) {
		var t = !1, n = () => {
			if (!t) {
				if (t = !0, e.hasAttribute("value")) {
					var n = e.value;
					Z(e, "value", null), e.value = n;
				}
				if (e.hasAttribute("checked")) {
					var r = e.checked;
					Z(e, "checked", null), e.checked = r;
				}
			}
		};
		e[ue] = n, We(n), Qe();
	}
}
function fi(e, t) {
	var n = mi(e);
	n.value !== (n.value = t ?? void 0) && (e.value !== t || t === 0 && e.nodeName === ui) && (e.value = t ?? "");
}
function pi(e, t) {
	var n = mi(e);
	n.checked !== (n.checked = t ?? void 0) && (e.checked = t);
}
function Z(e, t, n, r) {
	var i = mi(e);
	if (!(k && (i[t] = e.getAttribute(t), t === "src" || t === "srcset" || t === "href" && e.nodeName === li))) {
		var a = i[t];
		a !== (i[t] = n) && (t === "loading" && (e[ae] = n), n == null ? e.removeAttribute(t) : typeof n != "string" && gi(e).has(t) ? e[t] = n : (!k || typeof n != "number" && typeof n != "boolean" || a !== String(n)) && e.setAttribute(t, n));
	}
}
function mi(e) {
	return e[oe] ??= {
		[si]: e.nodeName.includes("-"),
		[ci]: e.namespaceURI === pe
	};
}
var hi = new Map();
function gi(e) {
	var t = e.getAttribute("is") || e.nodeName, n = hi.get(t);
	if (n) return n;
	hi.set(t, n = new Set());
	for (var r, i = e, a = Element.prototype; a !== i;) {
		for (var s in r = o(i), r) r[s].set && s !== "innerHTML" && s !== "textContent" && s !== "innerText" && n.add(s);
		i = l(i);
	}
	return n;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/input.js
function _i(e, t, n = t) {
	var r = new WeakSet();
	et(e, "input", async (i) => {
		var a = i ? e.defaultValue : e.value;
		if (a = vi(e) ? yi(a) : a, n(a), F !== null && r.add(F), await rr(), a !== (a = t())) {
			var o = e.selectionStart, s = e.selectionEnd, c = e.value.length;
			if (e.value = a ?? "", s !== null) {
				var l = e.value.length;
				o === s && s === c && l > c ? (e.selectionStart = l, e.selectionEnd = l) : (e.selectionStart = o, e.selectionEnd = Math.min(s, l));
			}
		}
	}), (k && e.defaultValue !== e.value || or(t) == null && e.value) && (n(vi(e) ? yi(e.value) : e.value), F !== null && r.add(F)), _n(() => {
		var n = t();
		if (e === document.activeElement) {
			var i = F;
			if (r.has(i)) return;
		}
		vi(e) && n === yi(e.value) || (e.type !== "date" || n || e.value) && n !== e.value && (e.value = n ?? "");
	});
}
function vi(e) {
	var t = e.type;
	return t === "number" || t === "range";
}
function yi(e) {
	return e === "" ? null : +e;
}
var bi = new class e {
	#e = new WeakMap();
	#t;
	#n;
	static entries = new WeakMap();
	constructor(e) {
		this.#n = e;
	}
	observe(e, t) {
		var n = this.#e.get(e) || new Set();
		return n.add(t), this.#e.set(e, n), this.#r().observe(e, this.#n), () => {
			var n = this.#e.get(e);
			n.delete(t), n.size === 0 && (this.#e.delete(e), this.#t.unobserve(e));
		};
	}
	#r() {
		return this.#t ??= new ResizeObserver((t) => {
			for (var n of t) {
				e.entries.set(n.target, n);
				for (var r of this.#e.get(n.target) || []) r(n);
			}
		});
	}
}({ box: "border-box" });
function xi(e, t, n) {
	var r = bi.observe(e, () => n(e[t]));
	hn(() => (or(() => n(e[t])), r));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/this.js
function Si(e, t) {
	return e === t || e?.[ne] === t;
}
function Ci(e = Be(), t, n, r) {
	var i = Ie.r, a = Ln;
	return hn(() => {
		var o, s;
		return _n(() => {
			o = s, s = r?.() || [], or(() => {
				Si(n(...s), e) || (t(e, ...s), o && Si(n(...o), e) && t(null, ...o));
			});
		}), () => {
			let r = a;
			for (; r !== i && r.parent !== null && r.parent.f & 33554432;) r = r.parent;
			let o = () => {
				s && Si(n(...s), e) && t(null, ...s);
			}, c = r.teardown;
			r.teardown = () => {
				o(), c?.();
			};
		};
	}), e;
}
// node_modules/svelte/src/internal/client/reactivity/store.js
var wi = !1;
function Ti(e) {
	var t = wi;
	try {
		return wi = !1, [e(), wi];
	} finally {
		wi = t;
	}
}
// node_modules/svelte/src/internal/client/reactivity/props.js
function Ei(e, t, n, r) {
	var i = !0, o = !!(n & 8), s = !!(n & 16), c = r, l = !0, u = void 0, d = () => s && i ? (u ??= at(r), W(u)) : (l && (l = !1, c = s ? or(r) : r), c);
	let f;
	if (o) {
		var p = ne in e || ie in e;
		f = a(e, t)?.set ?? (p && t in e ? (n) => e[t] = n : void 0);
	}
	var m, h = !1;
	o ? [m, h] = Ti(() => e[t]) : m = e[t], m === void 0 && r !== void 0 && (m = d(), f && (i && je(t), f(m)));
	var g = i ? () => {
		var n = e[t];
		return n === void 0 ? d() : (l = !0, n);
	} : () => {
		var n = e[t];
		return n !== void 0 && (c = void 0), n === void 0 ? c : n;
	};
	if (i && !(n & 4)) return g;
	if (f) {
		var _ = e.$$legacy;
		return (function(e, t) {
			return arguments.length > 0 ? ((!i || !t || _ || h) && f(t ? g() : e), e) : g();
		});
	}
	var v = !1, y = (n & 1 ? at : ct)(() => (v = !1, g()));
	o && W(y);
	var b = Ln;
	return (function(e, t) {
		if (arguments.length > 0) {
			let n = t ? W(y) : i && o ? Wt(e) : e;
			return L(y, n), v = !0, c !== void 0 && (c = n), e;
		}
		return Mn && v || b.f & 16384 ? y.v : W(y);
	});
}
// node_modules/svelte/src/internal/disclose-version.js
typeof window < "u" && ((window.__svelte ??= {}).v ??= new Set()).add("5");
// node_modules/@uwdata/flechette/src/constants.js
var Di = Uint8Array.of(65, 82, 82, 79, 87, 49), Oi = {
	V1: 0,
	V2: 1,
	V3: 2,
	V4: 3,
	V5: 4
}, ki = {
	NONE: 0,
	Schema: 1,
	DictionaryBatch: 2,
	RecordBatch: 3,
	Tensor: 4,
	SparseTensor: 5
}, Q = {
	Dictionary: -1,
	NONE: 0,
	Null: 1,
	Int: 2,
	Float: 3,
	Binary: 4,
	Utf8: 5,
	Bool: 6,
	Decimal: 7,
	Date: 8,
	Time: 9,
	Timestamp: 10,
	Interval: 11,
	List: 12,
	Struct: 13,
	Union: 14,
	FixedSizeBinary: 15,
	FixedSizeList: 16,
	Map: 17,
	Duration: 18,
	LargeBinary: 19,
	LargeUtf8: 20,
	LargeList: 21,
	RunEndEncoded: 22,
	BinaryView: 23,
	Utf8View: 24,
	ListView: 25,
	LargeListView: 26
}, Ai = {
	HALF: 0,
	SINGLE: 1,
	DOUBLE: 2
}, ji = {
	DAY: 0,
	MILLISECOND: 1
}, Mi = {
	SECOND: 0,
	MILLISECOND: 1,
	MICROSECOND: 2,
	NANOSECOND: 3
}, Ni = {
	YEAR_MONTH: 0,
	DAY_TIME: 1,
	MONTH_DAY_NANO: 2
}, Pi = {
	Sparse: 0,
	Dense: 1
}, Fi = {
	LZ4_FRAME: 0,
	ZSTD: 1
}, Ii = { BUFFER: 0 }, Li = Uint8Array, Ri = Uint16Array, zi = Uint32Array, Bi = BigUint64Array, Vi = Int8Array, Hi = Int16Array, Ui = Int32Array, Wi = BigInt64Array, Gi = Float32Array, Ki = Float64Array;
function qi(e) {
	return Object.prototype.toString.call(e);
}
function Ji(e) {
	return qi(e) === "[object ArrayBuffer]" || qi(e) === "[object SharedArrayBuffer]";
}
function Yi(e) {
	return qi(e) === "[object Uint8Array]";
}
function Xi(e, t) {
	let n = Math.log2(e) - 3;
	return (t ? [
		Vi,
		Hi,
		Ui,
		Wi
	] : [
		Li,
		Ri,
		zi,
		Bi
	])[n];
}
function Zi(e, t) {
	let n = 0, r = e.length;
	if (r <= 2147483648) do {
		let i = n + r >>> 1;
		e[i] <= t ? n = i + 1 : r = i;
	} while (n < r);
	else do {
		let i = Math.trunc((n + r) / 2);
		e[i] <= t ? n = i + 1 : r = i;
	} while (n < r);
	return n;
}
// node_modules/@uwdata/flechette/src/util/objects.js
function Qi(e, t, n) {
	if (t(e)) return e;
	throw Error(n(e));
}
function $i(e, t, n) {
	return t = Array.isArray(t) ? t : Object.values(t), Qi(e, (e) => t.includes(e), n ?? (() => `${e} must be one of ${t}`));
}
function ea(e, t) {
	for (let [n, r] of Object.entries(e)) if (r === t) return n;
	return "<Unknown>";
}
// node_modules/@uwdata/flechette/src/data-types.js
var ta = (e) => `Unsupported data type: "${ea(Q, e)}" (id ${e})`, na = (e, t, n = !0, r = null) => ({
	name: e,
	type: t,
	nullable: n,
	metadata: r
});
function ra(e) {
	return Object.hasOwn(e, "name") && ia(e.type);
}
function ia(e) {
	return typeof e?.typeId == "number";
}
function aa(e, t = "", n = !0) {
	return ra(e) ? e : na(t, Qi(e, ia, () => "Data type expected."), n);
}
var oa = (e, t, n = !1, r = -1) => ({
	typeId: Q.Dictionary,
	id: r,
	dictionary: e,
	indices: t || ca(),
	ordered: n
}), sa = (e = 32, t = !0) => ({
	typeId: Q.Int,
	bitWidth: $i(e, [
		8,
		16,
		32,
		64
	]),
	signed: t,
	values: Xi(e, t)
}), ca = () => sa(32), la = (e = 2) => ({
	typeId: Q.Float,
	precision: $i(e, Ai),
	values: [
		Ri,
		Gi,
		Ki
	][e]
}), ua = () => ({
	typeId: Q.Binary,
	offsets: Ui
}), da = () => ({
	typeId: Q.Utf8,
	offsets: Ui
}), fa = (e, t, n = 128) => ({
	typeId: Q.Decimal,
	precision: e,
	scale: t,
	bitWidth: $i(n, [
		32,
		64,
		128,
		256
	]),
	values: n === 32 ? Ui : Bi
}), pa = (e) => ({
	typeId: Q.Date,
	unit: $i(e, ji),
	values: e === ji.DAY ? Ui : Wi
}), ma = (e = Mi.MILLISECOND) => {
	e = $i(e, Mi);
	let t = e === Mi.SECOND || e === Mi.MILLISECOND ? 32 : 64;
	return {
		typeId: Q.Time,
		unit: e,
		bitWidth: t,
		values: t === 32 ? Ui : Wi
	};
}, ha = (e = Mi.MILLISECOND, t = null) => ({
	typeId: Q.Timestamp,
	unit: $i(e, Mi),
	timezone: t,
	values: Wi
}), ga = (e = Ni.MONTH_DAY_NANO) => ({
	typeId: Q.Interval,
	unit: $i(e, Ni),
	values: e === Ni.MONTH_DAY_NANO ? void 0 : Ui
}), _a = (e) => ({
	typeId: Q.List,
	children: [aa(e)],
	offsets: Ui
}), va = (e) => ({
	typeId: Q.Struct,
	children: Array.isArray(e) && e.length > 0 && ra(e[0]) ? e : Object.entries(e).map(([e, t]) => na(e, t))
}), ya = (e, t, n, r) => (n ??= t.map((e, t) => t), {
	typeId: Q.Union,
	mode: $i(e, Pi),
	typeIds: n,
	typeMap: n.reduce((e, t, n) => (e[t] = n, e), {}),
	children: t.map((e, t) => aa(e, `_${t}`)),
	typeIdForValue: r,
	offsets: Ui
}), ba = (e) => ({
	typeId: Q.FixedSizeBinary,
	stride: e
}), xa = (e, t) => ({
	typeId: Q.FixedSizeList,
	stride: t,
	children: [aa(e)]
}), Sa = (e, t) => ({
	typeId: Q.Map,
	keysSorted: e,
	children: [t],
	offsets: Ui
}), Ca = (e = Mi.MILLISECOND) => ({
	typeId: Q.Duration,
	unit: $i(e, Mi),
	values: Wi
}), wa = () => ({
	typeId: Q.LargeBinary,
	offsets: Wi
}), Ta = () => ({
	typeId: Q.LargeUtf8,
	offsets: Wi
}), Ea = (e) => ({
	typeId: Q.LargeList,
	children: [aa(e)],
	offsets: Wi
}), Da = (e, t) => ({
	typeId: Q.RunEndEncoded,
	children: [Qi(aa(e, "run_ends"), (e) => e.type.typeId === Q.Int, () => "Run-ends must have an integer type."), aa(t, "values")]
}), Oa = (e) => ({
	typeId: Q.ListView,
	children: [aa(e, "value")],
	offsets: Ui
}), ka = (e) => ({
	typeId: Q.LargeListView,
	children: [aa(e, "value")],
	offsets: Wi
}), Aa = new Ki(2).buffer;
new Wi(Aa), new zi(Aa), new Ui(Aa), new Li(Aa);
function ja(e) {
	if (e > 2 ** 53 - 1 || e < -(2 ** 53 - 1)) throw Error(`BigInt exceeds integer number representation: ${e}`);
	return Number(e);
}
function Ma(e, t) {
	return Number(e / t) + Number(e % t) / Number(t);
}
var Na = (e) => BigInt.asUintN(64, e);
function Pa(e, t) {
	return BigInt.asIntN(64, e[t]);
}
function Fa(e, t) {
	let n = t << 1, r;
	return BigInt.asIntN(64, e[n + 1]) < 0 ? (r = Na(~e[n]) | Na(~e[n + 1]) << 64n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n, r;
}
function Ia(e, t) {
	let n = t << 2, r;
	return BigInt.asIntN(64, e[n + 3]) < 0 ? (r = Na(~e[n]) | Na(~e[n + 1]) << 64n | Na(~e[n + 2]) << 128n | Na(~e[n + 3]) << 192n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n | e[n + 2] << 128n | e[n + 3] << 192n, r;
}
// node_modules/@uwdata/flechette/src/util/strings.js
var La = new TextDecoder("utf-8");
new TextEncoder();
function Ra(e) {
	return La.decode(e);
}
function za(e, t) {
	return !!(e[t >> 3] & 1 << t % 8);
}
function Ba(e, t) {
	let n = t + qa(e, t), r = n - qa(e, n), i = Ga(e, r);
	return (t, a, o = null) => {
		if (t < i) {
			let i = Ga(e, r + t);
			if (i) return a(e, n + i);
		}
		return o;
	};
}
function Va(e, t) {
	return t;
}
function Ha(e, t) {
	return !!Ua(e, t);
}
function Ua(e, t) {
	return Wa(e, t) << 24 >> 24;
}
function Wa(e, t) {
	return e[t];
}
function Ga(e, t) {
	return Ka(e, t) << 16 >> 16;
}
function Ka(e, t) {
	return e[t] | e[t + 1] << 8;
}
function qa(e, t) {
	return e[t] | e[t + 1] << 8 | e[t + 2] << 16 | e[t + 3] << 24;
}
function Ja(e, t) {
	return qa(e, t) >>> 0;
}
function Ya(e, t) {
	return ja(BigInt.asIntN(64, BigInt(Ja(e, t)) + (BigInt(Ja(e, t + 4)) << 32n)));
}
function Xa(e, t) {
	let n = t + qa(e, t), r = qa(e, n);
	return n += 4, Ra(e.subarray(n, n + r));
}
function Za(e, t, n, r) {
	if (!t) return [];
	let i = t + qa(e, t);
	return Array.from({ length: qa(e, i) }, (t, a) => r(e, i + 4 + a * n));
}
// node_modules/@uwdata/flechette/src/util/struct.js
var Qa = Symbol("rowIndex");
function $a(e, t) {
	class n {
		constructor(e) {
			this[Qa] = e;
		}
		toJSON() {
			return to(e, t, this[Qa]);
		}
	}
	let r = n.prototype;
	for (let n = 0; n < e.length; ++n) {
		if (Object.hasOwn(r, e[n])) continue;
		let i = t[n];
		Object.defineProperty(r, e[n], {
			get() {
				return i.at(this[Qa]);
			},
			enumerable: !0
		});
	}
	return (e) => new n(e);
}
function eo(e, t) {
	return (n) => to(e, t, n);
}
function to(e, t, n) {
	let r = {};
	for (let i = 0; i < e.length; ++i) r[e[i]] = t[i].at(n);
	return r;
}
// node_modules/@uwdata/flechette/src/batch.js
function no(e) {
	return e instanceof io;
}
var ro = class {
	static ArrayType = null;
	constructor({ length: e, nullCount: t, type: n, validity: r, values: i, offsets: a, sizes: o, children: s }) {
		this.length = e, this.nullCount = t, this.type = n, this.validity = r, this.values = i, this.offsets = a, this.sizes = o, this.children = s, t && this.validity || (this.at = (e) => this.value(e));
	}
	get [Symbol.toStringTag]() {
		return "Batch";
	}
	at(e) {
		return this.isValid(e) ? this.value(e) : null;
	}
	isValid(e) {
		return za(this.validity, e);
	}
	value(e) {
		return this.values[e];
	}
	slice(e, t) {
		let n = t - e, r = Array(n);
		for (let t = 0; t < n; ++t) r[t] = this.at(e + t);
		return r;
	}
	*[Symbol.iterator]() {
		for (let e = 0; e < this.length; ++e) yield this.at(e);
	}
}, io = class extends ro {
	constructor(e) {
		super(e);
		let { length: t, values: n } = this;
		this.values = n.subarray(0, t);
	}
	slice(e, t) {
		return this.nullCount ? super.slice(e, t) : this.values.subarray(e, t);
	}
	[Symbol.iterator]() {
		return this.nullCount ? super[Symbol.iterator]() : this.values[Symbol.iterator]();
	}
}, ao = class extends ro {
	static ArrayType = Ki;
}, oo = class extends ro {
	static ArrayType = Array;
}, so = class extends oo {
	value(e) {
		return null;
	}
}, co = class extends ao {
	value(e) {
		return ja(this.values[e]);
	}
}, lo = class extends ao {
	value(e) {
		let t = this.values[e], n = (t & 31744) >> 10, r = (t & 1023) / 1024, i = (-1) ** ((t & 32768) >> 15);
		switch (n) {
			case 31: return i * (r ? NaN : 1 / 0);
			case 0: return i * (r ? 6103515625e-14 * r : 0);
		}
		return i * 2 ** (n - 15) * (1 + r);
	}
}, uo = class extends oo {
	value(e) {
		return za(this.values, e);
	}
}, fo = class extends ao {
	constructor(e) {
		super(e);
		let { scale: t } = this.type;
		this.scale = 10 ** t;
	}
	value(e) {
		return this.values[e] / this.scale;
	}
}, po = class extends ro {
	constructor(e) {
		super(e);
		let { bitWidth: t, scale: n } = this.type;
		this.decimal = t === 64 ? Pa : t === 128 ? Fa : Ia, this.scale = 10n ** BigInt(n);
	}
}, mo = class extends po {
	static ArrayType = Ki;
	value(e) {
		return Ma(this.decimal(this.values, e), this.scale);
	}
}, ho = class extends po {
	static ArrayType = Array;
	value(e) {
		return this.decimal(this.values, e);
	}
}, go = class extends oo {
	constructor(e) {
		super(e), this.source = e;
	}
	value(e) {
		return new Date(this.source.value(e));
	}
}, _o = class extends ao {
	value(e) {
		return 864e5 * this.values[e];
	}
}, vo = co, yo = class extends co {
	value(e) {
		return super.value(e) * 1e3;
	}
}, bo = co, xo = class extends co {
	value(e) {
		return Ma(this.values[e], 1000n);
	}
}, So = class extends co {
	value(e) {
		return Ma(this.values[e], 1000000n);
	}
}, Co = class extends oo {
	value(e) {
		return this.values.subarray(e << 1, e + 1 << 1);
	}
}, wo = class extends oo {
	value(e) {
		let t = this.values, n = e << 4;
		return Float64Array.of(qa(t, n), qa(t, n + 4), Ya(t, n + 8));
	}
}, To = ({ values: e, offsets: t }, n) => e.subarray(t[n], t[n + 1]), Eo = ({ values: e, offsets: t }, n) => e.subarray(ja(t[n]), ja(t[n + 1])), Do = class extends oo {
	value(e) {
		return To(this, e);
	}
}, Oo = class extends oo {
	value(e) {
		return Eo(this, e);
	}
}, ko = class extends oo {
	value(e) {
		return Ra(To(this, e));
	}
}, Ao = class extends oo {
	value(e) {
		return Ra(Eo(this, e));
	}
}, jo = class extends oo {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(t[e], t[e + 1]);
	}
}, Mo = class extends oo {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(ja(t[e]), ja(t[e + 1]));
	}
}, No = class extends oo {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(t, n);
	}
}, Po = class extends oo {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(ja(t), ja(n));
	}
}, Fo = class extends oo {
	constructor(e) {
		super(e), this.stride = this.type.stride;
	}
}, Io = class extends Fo {
	value(e) {
		let { stride: t, values: n } = this;
		return n.subarray(e * t, (e + 1) * t);
	}
}, Lo = class extends Fo {
	value(e) {
		let { children: t, stride: n } = this;
		return t[0].slice(e * n, (e + 1) * n);
	}
};
function Ro({ children: e, offsets: t }, n) {
	let [r, i] = e[0].children, a = t[n], o = t[n + 1], s = [];
	for (let e = a; e < o; ++e) s.push([r.at(e), i.at(e)]);
	return s;
}
var zo = class extends oo {
	value(e) {
		return Ro(this, e);
	}
}, Bo = class extends oo {
	value(e) {
		return new Map(Ro(this, e));
	}
}, Vo = class extends oo {
	constructor({ typeIds: e, ...t }) {
		super(t), this.typeIds = e, this.typeMap = this.type.typeMap;
	}
	value(e, t = e) {
		let { typeIds: n, children: r, typeMap: i } = this;
		return r[i[n[e]]].at(t);
	}
}, Ho = class extends Vo {
	value(e) {
		return super.value(e, this.offsets[e]);
	}
}, Uo = class extends oo {
	constructor(e, t = eo) {
		super(e), this.names = this.type.children.map((e) => e.name), this.factory = t(this.names, this.children);
	}
	value(e) {
		return this.factory(e);
	}
}, Wo = class extends Uo {
	constructor(e) {
		super(e, $a);
	}
}, Go = class extends oo {
	value(e) {
		let [{ values: t }, n] = this.children;
		return n.at(Zi(t, e));
	}
}, Ko = class extends oo {
	setDictionary(e) {
		return this.dictionary = e, this.cache = e.cache(), this;
	}
	value(e) {
		return this.cache[this.key(e)];
	}
	key(e) {
		return this.values[e];
	}
}, qo = class extends oo {
	constructor({ data: e, ...t }) {
		super(t), this.data = e;
	}
	view(e) {
		let { values: t, data: n } = this, r = e << 4, i = r + 4, a = t, o = qa(a, r);
		return o > 12 && (i = qa(a, r + 12), a = n[qa(a, r + 8)]), a.subarray(i, i + o);
	}
}, Jo = class extends qo {
	value(e) {
		return this.view(e);
	}
}, Yo = class extends qo {
	value(e) {
		return Ra(this.view(e));
	}
};
// node_modules/@uwdata/flechette/src/column.js
function Xo(e) {
	let t = [];
	return {
		add(e) {
			return t.push(e), this;
		},
		clear: () => t = [],
		done: () => new Zo(t, e)
	};
}
var Zo = class {
	constructor(e, t = e[0]?.type) {
		this.type = t, this.length = e.reduce((e, t) => e + t.length, 0), this.nullCount = e.reduce((e, t) => e + t.nullCount, 0), this.data = e;
		let n = e.length, r = new Int32Array(n + 1);
		if (n === 1) {
			let [t] = e;
			r[1] = t.length, this.at = (e) => t.at(e);
		} else for (let t = 0, i = 0; t < n; ++t) r[t + 1] = i += e[t].length;
		this.offsets = r;
	}
	get [Symbol.toStringTag]() {
		return "Column";
	}
	[Symbol.iterator]() {
		let e = this.data;
		return e.length === 1 ? e[0][Symbol.iterator]() : Qo(e);
	}
	at(e) {
		let { data: t, offsets: n } = this, r = Zi(n, e) - 1;
		return t[r]?.at(e - n[r]);
	}
	get(e) {
		return this.at(e);
	}
	toArray() {
		let { length: e, nullCount: t, data: n } = this, r = !t && no(n[0]), i = n.length;
		if (r && i === 1) return n[0].values;
		let a = new (!i || t > 0 ? Array : n[0].constructor.ArrayType ?? n[0].values.constructor)(e);
		return r ? $o(a, n) : es(a, n);
	}
	cache() {
		return this._cache ??= this.toArray();
	}
};
function* Qo(e) {
	for (let t = 0; t < e.length; ++t) {
		let n = e[t][Symbol.iterator]();
		for (let e = n.next(); !e.done; e = n.next()) yield e.value;
	}
}
function $o(e, t) {
	for (let n = 0, r = 0; n < t.length; ++n) {
		let { values: i } = t[n];
		e.set(i, r), r += i.length;
	}
	return e;
}
function es(e, t) {
	let n = -1;
	for (let r = 0; r < t.length; ++r) {
		let i = t[r];
		for (let t = 0; t < i.length; ++t) e[++n] = i.at(t);
	}
	return e;
}
// node_modules/@uwdata/flechette/src/table.js
var ts = class e {
	constructor(e, t, n = !1) {
		let r = e.fields.map((e) => e.name);
		this.schema = e, this.names = r, this.children = t, this.factory = n ? $a : eo;
		let i = [];
		this.getFactory = (e) => i[e] ?? (i[e] = this.factory(r, t.map((t) => t.data[e])));
	}
	get [Symbol.toStringTag]() {
		return "Table";
	}
	get numCols() {
		return this.names.length;
	}
	get numRows() {
		return this.children[0]?.length ?? 0;
	}
	getChildAt(e) {
		return this.children[e];
	}
	getChild(e) {
		let t = this.names.findIndex((t) => t === e);
		return t > -1 ? this.children[t] : void 0;
	}
	selectAt(t, n = []) {
		let { children: r, factory: i, schema: a } = this, { fields: o } = a;
		return new e({
			...a,
			fields: t.map((e, t) => ns(o[e], n[t]))
		}, t.map((e) => r[e]), i === $a);
	}
	select(e, t) {
		let n = this.names, r = e.map((e) => n.indexOf(e));
		return this.selectAt(r, t);
	}
	toColumns() {
		let { children: e, names: t } = this, n = {};
		return t.forEach((t, r) => n[t] = e[r]?.toArray() ?? []), n;
	}
	toArray() {
		let { children: e, getFactory: t, numRows: n } = this, r = e[0]?.data ?? [], i = Array(n);
		for (let e = 0, n = -1; e < r.length; ++e) {
			let a = t(e);
			for (let t = 0; t < r[e].length; ++t) i[++n] = a(t);
		}
		return i;
	}
	*[Symbol.iterator]() {
		let { children: e, getFactory: t } = this, n = e[0]?.data ?? [];
		for (let e = 0; e < n.length; ++e) {
			let r = t(e);
			for (let t = 0; t < n[e].length; ++t) yield r(t);
		}
	}
	at(e) {
		let { children: t, getFactory: n, numRows: r } = this;
		if (e < 0 || e >= r) return null;
		let [{ offsets: i }] = t, a = Zi(i, e) - 1;
		return n(a)(e - i[a]);
	}
	get(e) {
		return this.at(e);
	}
};
function ns(e, t) {
	return t != null && t !== e.name ? {
		...e,
		name: t
	} : e;
}
// node_modules/@uwdata/flechette/src/batch-type.js
function rs(e, t = {}) {
	let { typeId: n, bitWidth: r, mode: i, precision: a, unit: o } = e, { useBigInt: s, useBigIntTimestamp: c, useDate: l, useDecimalInt: u, useMap: d, useProxy: f } = t;
	switch (n) {
		case Q.Null: return so;
		case Q.Bool: return uo;
		case Q.Int:
		case Q.Time:
		case Q.Duration: return s || r < 64 ? io : co;
		case Q.Float: return a ? io : lo;
		case Q.Date: return is(o === ji.DAY ? _o : vo, l && go);
		case Q.Timestamp: return c ? io : is(o === Mi.SECOND ? yo : o === Mi.MILLISECOND ? bo : o === Mi.MICROSECOND ? xo : So, l && go);
		case Q.Decimal: return r === 32 ? u ? io : fo : u ? ho : mo;
		case Q.Interval: return o === Ni.DAY_TIME ? Co : o === Ni.YEAR_MONTH ? io : wo;
		case Q.FixedSizeBinary: return Io;
		case Q.Utf8: return ko;
		case Q.LargeUtf8: return Ao;
		case Q.Binary: return Do;
		case Q.LargeBinary: return Oo;
		case Q.BinaryView: return Jo;
		case Q.Utf8View: return Yo;
		case Q.List: return jo;
		case Q.LargeList: return Mo;
		case Q.Map: return d ? Bo : zo;
		case Q.ListView: return No;
		case Q.LargeListView: return Po;
		case Q.FixedSizeList: return Lo;
		case Q.Struct: return f ? Wo : Uo;
		case Q.RunEndEncoded: return Go;
		case Q.Dictionary: return Ko;
		case Q.Union: return i ? Ho : Vo;
	}
	throw Error(ta(n));
}
function is(e, t) {
	return t ? class extends t {
		constructor(t) {
			super(new e(t));
		}
	} : e;
}
// node_modules/@uwdata/flechette/src/compression.js
var as = -1, os = 8;
function ss(e) {
	return `Missing compression codec "${ea(Fi, e)}" (id ${e})`;
}
var cs = new Map();
function ls(e) {
	return e != null && cs.get(e) || null;
}
function us(e, { offset: t, length: n }, r) {
	if (n === 0) return {
		bytes: new Uint8Array(),
		offset: 0,
		length: 0
	};
	let i = Ya(e, t), a = e.subarray(t + os, t + n), o = i === as ? a : r.decode(a, i);
	return {
		bytes: o,
		offset: 0,
		length: o.length
	};
}
// node_modules/@uwdata/flechette/src/decode/block.js
function ds(e, t) {
	return {
		offset: Ya(e, t),
		metadataLength: qa(e, t + 8),
		bodyLength: Ya(e, t + 16)
	};
}
function fs(e, t) {
	return Za(e, t, 24, ds);
}
// node_modules/@uwdata/flechette/src/decode/body-compression.js
function ps(e, t) {
	let n = Ba(e, t);
	return {
		codec: n(4, Ua, Fi.LZ4_FRAME),
		method: n(6, Ua, Ii.BUFFER)
	};
}
// node_modules/@uwdata/flechette/src/decode/record-batch.js
function ms(e, t, n) {
	let r = Ba(e, t), i = n < Oi.V4 ? 8 : 0;
	return {
		length: r(4, Ya, 0),
		nodes: Za(e, r(6, Va), 16, (e, t) => ({
			length: Ya(e, t),
			nullCount: Ya(e, t + 8)
		})),
		regions: Za(e, r(8, Va), 16 + i, (e, t) => ({
			offset: Ya(e, t + i),
			length: Ya(e, t + i + 8)
		})),
		compression: r(10, ps),
		variadic: Za(e, r(12, Va), 8, Ya)
	};
}
// node_modules/@uwdata/flechette/src/decode/dictionary-batch.js
function hs(e, t, n) {
	let r = Ba(e, t);
	return {
		id: r(4, Ya, 0),
		data: r(6, (e, t) => ms(e, t, n)),
		isDelta: r(8, Ha, !1)
	};
}
// node_modules/@uwdata/flechette/src/decode/data-type.js
function gs(e, t, n, r) {
	$i(n, Q, ta);
	let i = Ba(e, t);
	switch (n) {
		case Q.Binary: return ua();
		case Q.Utf8: return da();
		case Q.LargeBinary: return wa();
		case Q.LargeUtf8: return Ta();
		case Q.List: return _a(r[0]);
		case Q.ListView: return Oa(r[0]);
		case Q.LargeList: return Ea(r[0]);
		case Q.LargeListView: return ka(r[0]);
		case Q.Struct: return va(r);
		case Q.RunEndEncoded: return Da(r[0], r[1]);
		case Q.Int: return sa(i(4, qa, 0), i(6, Ha, !1));
		case Q.Float: return la(i(4, Ga, Ai.HALF));
		case Q.Decimal: return fa(i(4, qa, 0), i(6, qa, 0), i(8, qa, 128));
		case Q.Date: return pa(i(4, Ga, ji.MILLISECOND));
		case Q.Time: return ma(i(4, Ga, Mi.MILLISECOND));
		case Q.Timestamp: return ha(i(4, Ga, Mi.SECOND), i(6, Xa));
		case Q.Interval: return ga(i(4, Ga, Ni.YEAR_MONTH));
		case Q.Duration: return Ca(i(4, Ga, Mi.MILLISECOND));
		case Q.FixedSizeBinary: return ba(i(4, qa, 0));
		case Q.FixedSizeList: return xa(r[0], i(4, qa, 0));
		case Q.Map: return Sa(i(4, Ha, !1), r[0]);
		case Q.Union: return ya(i(4, Ga, Pi.Sparse), r, Za(e, i(6, Va), 4, qa));
	}
	return { typeId: n };
}
// node_modules/@uwdata/flechette/src/decode/metadata.js
function _s(e, t) {
	let n = Za(e, t, 4, (e, t) => {
		let n = Ba(e, t);
		return [n(4, Xa), n(6, Xa)];
	});
	return n.length ? new Map(n) : null;
}
// node_modules/@uwdata/flechette/src/decode/schema.js
function vs(e, t, n) {
	let r = Ba(e, t);
	return {
		version: n,
		endianness: r(4, Ga, 0),
		fields: r(6, ys, []),
		metadata: r(8, _s)
	};
}
function ys(e, t) {
	return Za(e, t, 4, bs);
}
function bs(e, t) {
	let n = Ba(e, t), r = n(8, Wa, Q.NONE), i = n(10, Va, 0), a = n(12, Ss), o = gs(e, i, r, n(14, xs, []));
	return a && (a.dictionary = o, o = a), {
		name: n(4, Xa),
		type: o,
		nullable: n(6, Ha, !1),
		metadata: n(16, _s)
	};
}
function xs(e, t) {
	return Za(e, t, 4, bs);
}
function Ss(e, t) {
	if (!t) return null;
	let n = Ba(e, t);
	return oa(null, n(6, Cs, ca()), n(8, Ha, !1), n(4, Ya, 0));
}
function Cs(e, t) {
	return gs(e, t, Q.Int);
}
// node_modules/@uwdata/flechette/src/decode/message.js
var ws = (e, t) => `Expected to read ${e} metadata bytes, but only read ${t}.`, Ts = (e, t) => `Expected to read ${e} bytes for message body, but only read ${t}.`, Es = (e) => `Unsupported message type: ${e} (${ea(ki, e)})`;
function Ds(e, t) {
	let n = qa(e, t) || 0;
	if (t += 4, n === -1 && (n = qa(e, t) || 0, t += 4), n === 0) return null;
	let r = e.subarray(t, t += n);
	if (r.byteLength < n) throw Error(ws(n, r.byteLength));
	let i = Ba(r, 0), a = i(4, Ga, Oi.V1), o = i(6, Wa, ki.NONE), s = i(8, Va, 0), c = i(10, Ya, 0), l;
	if (s) {
		let n = o === ki.Schema ? vs : o === ki.DictionaryBatch ? hs : o === ki.RecordBatch ? ms : null;
		if (!n) throw Error(Es(o));
		if (l = n(r, s, a), c > 0) {
			let n = e.subarray(t, t += c);
			if (n.byteLength < c) throw Error(Ts(c, n.byteLength));
			l.body = n;
		} else o !== ki.Schema && (l.body = new Uint8Array());
	}
	return {
		version: a,
		type: o,
		index: t,
		content: l
	};
}
// node_modules/@uwdata/flechette/src/decode/decode-ipc.js
function Os(e) {
	let t = Ji(e) ? new Uint8Array(e) : e;
	return Yi(t) && ks(t) ? js(t) : As(t);
}
function ks(e) {
	if (!e || e.length < 4) return !1;
	for (let t = 0; t < 6; ++t) if (Di[t] !== e[t]) return !1;
	return !0;
}
function As(e) {
	let t = [e].flat(), n, r = [], i = [], a = [];
	for (let e of t) {
		if (!Yi(e)) throw Error("IPC data batch was not a Uint8Array.");
		let t = 0;
		for (;;) {
			let o = Ds(e, t);
			if (o === null) break;
			if (t = o.index, o.content) switch (o.type) {
				case ki.Schema:
					n ||= o.content;
					break;
				case ki.RecordBatch:
					r.push(o.content), a.push(i.length);
					break;
				case ki.DictionaryBatch: i.push(o.content);
			}
		}
	}
	return {
		schema: n,
		dictionaries: i,
		records: r,
		dictsBeforeRecord: a,
		metadata: null
	};
}
function js(e) {
	let t = e.byteLength - (Di.length + 4), n = Ba(e, t - qa(e, t)), r = n(4, Ga, Oi.V1), i = n(8, fs, []), a = n(10, fs, []), o = a.map((e) => i.filter((t) => t.offset < e.offset).length);
	return {
		schema: n(6, (e, t) => vs(e, t, r)),
		dictionaries: i.map(({ offset: t }) => Ds(e, t).content),
		records: a.map(({ offset: t }) => Ds(e, t).content),
		dictsBeforeRecord: o,
		metadata: n(12, _s)
	};
}
// node_modules/@uwdata/flechette/src/decode/table-from-ipc.js
function Ms(e, t) {
	return Ns(Os(e), t);
}
function Ns(e, t = {}) {
	let { schema: n = { fields: [] }, dictionaries: r, records: i, dictsBeforeRecord: a } = e, { version: o, fields: s } = n, c = new Map(), l = Fs(t, o, c), u = new Map();
	Ps(n, (e) => {
		let t = e.type;
		t.typeId === Q.Dictionary && u.set(t.id, t.dictionary);
	});
	let d = (e) => {
		let { id: t, data: n, isDelta: r, body: i } = e, a = u.get(t), o = Ls(a, l({
			...n,
			body: i
		})), s = c.get(t);
		if (s) r ? c.set(t, new Zo([...s.data, o], a)) : c.set(t, new Zo([o], a));
		else {
			if (r) throw Error("Delta update can not be first dictionary batch.");
			c.set(t, new Zo([o], a));
		}
	}, f = s.map((e) => Xo(e.type)), p = 0;
	for (let e = 0; e < i.length; e++) {
		let t = a ? a[e] : r.length;
		for (; p < t;) d(r[p++]);
		let n = l(i[e]);
		s.forEach((e, t) => f[t].add(Ls(e.type, n)));
	}
	for (; p < r.length;) d(r[p++]);
	return new ts(n, f.map((e) => e.done()), t.useProxy);
}
function Ps(e, t) {
	e.fields.forEach(function e(n) {
		t(n), n.type.dictionary?.children?.forEach(e), n.type.children?.forEach(e);
	});
}
function Fs(e, t, n) {
	let r = {
		version: t,
		options: e,
		dictionary: (e) => n.get(e)
	};
	return (e) => {
		let { length: t, nodes: n, regions: i, compression: a, variadic: o, body: s } = e, c = -1, l = -1, u = -1;
		return {
			...r,
			length: t,
			node: () => n[++c],
			buffer: (e) => {
				let { bytes: t, length: n, offset: r } = Is(s, i[++l], a);
				return e ? new e(t.buffer, t.byteOffset + r, n / e.BYTES_PER_ELEMENT) : t.subarray(r, r + n);
			},
			variadic: () => o[++u],
			visit(e) {
				return e.map((e) => Ls(e.type, this));
			}
		};
	};
}
function Is(e, t, n) {
	if (!n) return {
		bytes: e,
		...t
	};
	if (n.method !== Ii.BUFFER) throw Error(`Unknown compression method (${n.method})`);
	{
		let r = n.codec, i = ls(r);
		if (!i) throw Error(ss(r));
		return us(e, t, i);
	}
}
function Ls(e, t) {
	let { typeId: n } = e, { options: r, node: i, buffer: a, variadic: o, version: s } = t, c = rs(e, r), l = {
		...i(),
		type: e
	};
	if (n === Q.Null) return new c({
		...l,
		nullCount: l.length
	});
	switch (n) {
		case Q.Bool:
		case Q.Int:
		case Q.Time:
		case Q.Duration:
		case Q.Float:
		case Q.Decimal:
		case Q.Date:
		case Q.Timestamp:
		case Q.Interval:
		case Q.FixedSizeBinary: return new c({
			...l,
			validity: a(),
			values: a(e.values)
		});
		case Q.Utf8:
		case Q.LargeUtf8:
		case Q.Binary:
		case Q.LargeBinary: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			values: a()
		});
		case Q.BinaryView:
		case Q.Utf8View: return new c({
			...l,
			validity: a(),
			values: a(),
			data: Array.from({ length: o() }, () => a())
		});
		case Q.List:
		case Q.LargeList:
		case Q.Map: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			children: t.visit(e.children)
		});
		case Q.ListView:
		case Q.LargeListView: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			sizes: a(e.offsets),
			children: t.visit(e.children)
		});
		case Q.FixedSizeList:
		case Q.Struct: return new c({
			...l,
			validity: a(),
			children: t.visit(e.children)
		});
		case Q.RunEndEncoded: return new c({
			...l,
			children: t.visit(e.children)
		});
		case Q.Dictionary: {
			let { id: n, indices: r } = e;
			return new c({
				...l,
				validity: a(),
				values: a(r.values)
			}).setDictionary(t.dictionary(n));
		}
		case Q.Union: return s < Oi.V5 && a(), new c({
			...l,
			typeIds: a(Vi),
			offsets: e.mode === Pi.Sparse ? null : a(e.offsets),
			children: t.visit(e.children)
		});
		default: throw Error(ta(n));
	}
}
new Uint16Array(new Uint8Array([1, 0]).buffer)[0];
// src/api.ts
var Rs = "tetrys-token";
function zs() {
	let e = new URLSearchParams(location.hash.slice(1)).get("token");
	return e && (localStorage.setItem(Rs, e), history.replaceState(history.state, "", location.pathname + location.search)), e !== null;
}
var Bs = class extends Error {
	kind;
	constructor(e, t) {
		super(t), this.kind = e;
	}
};
async function Vs(e, t, n) {
	let r = new URLSearchParams(t.map(([e, t]) => [e, String(t)])), i;
	try {
		i = await fetch(`/api/${e}?${r}`, {
			headers: { authorization: `Bearer ${localStorage.getItem(Rs) ?? ""}` },
			credentials: "omit",
			signal: n
		});
	} catch (e) {
		throw n?.aborted ? e : new Bs("Unavailable", "The viewer does not answer. Is its command still running?");
	}
	if (i.ok) return i;
	let a = await i.json().catch(() => null);
	throw new Bs(a?.error?.kind ?? "Unknown", a?.error?.message ?? `the server answered ${i.status}`);
}
async function Hs(e, t, n) {
	return (await Vs(e, t, n)).json();
}
async function Us(e, t, n) {
	let r = await Vs(e, t, n);
	return new Gs(Ms(new Uint8Array(await r.arrayBuffer()), { useBigInt: !0 }));
}
async function Ws(e, t, n, r) {
	let i = (await Vs(e, t, r)).body.pipeThrough(new TextDecoderStream()).getReader(), a = "";
	for (;;) {
		let { done: e, value: t } = await i.read();
		if (e) {
			if (a) throw new Bs("Unavailable", "The answer ended before its time");
			return;
		}
		let r = (a + t).split("\n");
		a = r.pop();
		for (let e of r) {
			let t = JSON.parse(e);
			if (t.error) throw new Bs(t.error.kind, t.error.message);
			n(t);
		}
	}
}
var Gs = class {
	rows;
	types = new Map();
	taken;
	masks = new Map();
	table;
	constructor(e) {
		this.table = e, this.rows = JSON.parse(e.schema.metadata?.get("tetrys.rows") ?? "[]"), this.taken = JSON.parse(e.schema.metadata?.get("tetrys.read") ?? "null");
		let t = JSON.parse(e.schema.metadata?.get("tetrys.masks") ?? "null");
		e.schema.fields.forEach((e, n) => {
			this.types.set(e.name, e.metadata?.get("tetrys.type") ?? ""), t && this.masks.set(e.name, t[n]);
		});
	}
	get names() {
		return [...this.types.keys()];
	}
	value(e, t) {
		return this.table.getChild(e)?.at(t) ?? null;
	}
	there(e, t) {
		return this.rows[t] != null && (this.masks.get(e)?.[t] ?? !0);
	}
};
function Ks(e, t) {
	let n = [["table", e]];
	for (let e of t.where) n.push(["where", e]);
	return t.sort && n.push(["sort", t.sort], ["descending", +!!t.descending]), t.only && n.push(["only", t.only.join(",")]), n;
}
// src/format.ts
var qs = new Intl.NumberFormat("en"), Js = (e) => qs.format(e), Ys = (e, t) => `${Js(e)} ${t}${e === 1 ? "" : "s"}`;
function Xs(e) {
	if (e < 1e3) return Ys(e, "byte");
	let t = [
		"kB",
		"MB",
		"GB",
		"TB"
	], n = -1;
	do
		e /= 1e3, n++;
	while (e >= 999.95 && n < 3);
	return `${e.toFixed(e < 10 ? 2 : 1)} ${t[n]}`;
}
var Zs = (e) => e === null || Number.isNaN(new Date(e).getTime()) ? "" : new Date(e).toISOString().slice(0, 16).replace("T", " ") + " UTC";
function Qs(e) {
	if (!Number.isFinite(e)) return Number.isNaN(e) ? "NaN" : e > 0 ? "∞" : "−∞";
	if (Number.isInteger(e) && Math.abs(e) < 0x38d7ea4c68000) return String(e).replace("-", "−");
	let t = Math.abs(e);
	return (t >= 1e-4 && t < 1e9 ? String(Number(e.toPrecision(7))) : e.toExponential(4)).replace("-", "−");
}
var $s = {
	s: 1n,
	ms: 1000n,
	us: 1000000n,
	µs: 1000000n,
	ns: 1000000000n
};
function ec(e) {
	let t = /^timestamp\[(\w+|µs)/.exec(e);
	return t ? $s[t[1]] ?? null : null;
}
function tc(e, t) {
	let n = ec(t) ?? 1n, r = e / n, i = e % n;
	i < 0n && (i += n, r -= 1n);
	let a = new Date(Number(r) * 1e3);
	if (Number.isNaN(a.getTime())) return `${e}`;
	let o = String(n).length - 1, s = o ? "." + String(i).padStart(o, "0") : "";
	return a.toISOString().slice(0, 19).replace("T", " ") + s.replace(/\.?0+$/, "") + (t.includes(",") ? "Z" : "");
}
function nc(e, t) {
	let n = /\[(\w+|µs)\]/.exec(t)?.[1] ?? "s";
	return `${Qs(Number(e) / Number($s[n] ?? 1n))} s`;
}
var rc = (e) => /^([iu](8|16|32|64)|f(16|32|64)|bf16|bool)$/.test(e ?? ""), ic = (e) => rc(e) || /^(timestamp|date|duration)/.test(e ?? "");
function ac(e, t) {
	return e == null ? "null" : typeof e == "bigint" ? t.startsWith("timestamp") ? tc(e, t) : t.startsWith("duration") ? nc(e, t) : String(e).replace("-", "−") : typeof e == "number" ? t === "date" ? new Date(e * 864e5).toISOString().slice(0, 10) : Qs(t === "bf16" ? fc(e) : e) : typeof e == "boolean" ? e ? "true" : "false" : String(e);
}
var oc = 300, sc = (e) => Math.abs(e) < 2 ** 53 ? String(e) : e.toExponential();
function cc(e, t) {
	return e == null || typeof e == "bigint" && !/^[iu]/.test(t) || typeof e == "number" && !Number.isFinite(e) || typeof e == "string" && Array.from(e).length > oc ? null : typeof e == "number" ? t === "date" ? null : sc(e) : typeof e == "bigint" || typeof e == "boolean" ? String(e) : `'${String(e).replaceAll("'", "''")}'`;
}
var lc = (e) => `"${e.replaceAll("\"", "\"\"")}"`, uc = new Float32Array(1), dc = new Uint32Array(uc.buffer);
function fc(e) {
	return dc[0] = e << 16, uc[0];
}
function pc(e) {
	if (!(e instanceof Uint8Array) || e.length < 12) return null;
	let t = (t, n) => String.fromCharCode(...e.subarray(t, n));
	return e[0] === 255 && e[1] === 216 && e[2] === 255 ? "image/jpeg" : t(0, 8) === "PNG\r\n\n" ? "image/png" : t(0, 4) === "RIFF" && t(8, 12) === "WEBP" ? "image/webp" : t(4, 8) === "ftyp" && /^avi[fs]$/.test(t(8, 12)) ? "image/avif" : null;
}
function mc(e, t) {
	let n = /\[([\d,?]*)\]$/.exec(t)?.[1];
	if (e == null || n === void 0 || /^(timestamp|duration)/.test(t)) return null;
	let r = e, i = r.data && r.shape ? r.data : e, a = r.data && r.shape ? Array.from(r.shape) : n.split(",").filter(Boolean).map(Number);
	return {
		values: t.startsWith("bf16[") ? Float32Array.from(i, fc) : i,
		shape: a
	};
}
function hc(e) {
	let t = Infinity, n = -Infinity, r = 0, i = 0;
	for (let a = 0; a < e.length; a++) {
		let o = Number(e[a]);
		Number.isNaN(o) ? i++ : (o < t && (t = o), o > n && (n = o), r += o);
	}
	return {
		least: t,
		most: n,
		mean: r / Math.max(1, e.length - i),
		nan: i
	};
}
zs(), addEventListener("hashchange", () => zs() && location.reload());
var gc = [
	"rows",
	"row",
	"scene",
	"storage",
	"table"
], _c = {
	metres: 90,
	up: "ego",
	around: 30,
	track: null
}, $ = new class {
	#e = I([]);
	get tables() {
		return W(this.#e);
	}
	set tables(e) {
		L(this.#e, e);
	}
	#t = I(0);
	get table() {
		return W(this.#t);
	}
	set table(e) {
		L(this.#t, e, !0);
	}
	#n = I(Wt([]));
	get where() {
		return W(this.#n);
	}
	set where(e) {
		L(this.#n, e, !0);
	}
	#r = I(null);
	get sort() {
		return W(this.#r);
	}
	set sort(e) {
		L(this.#r, e, !0);
	}
	#i = I(!1);
	get descending() {
		return W(this.#i);
	}
	set descending(e) {
		L(this.#i, e, !0);
	}
	#a = I(Wt([]));
	get hidden() {
		return W(this.#a);
	}
	set hidden(e) {
		L(this.#a, e, !0);
	}
	#o = I(0);
	get row() {
		return W(this.#o);
	}
	set row(e) {
		L(this.#o, e, !0);
	}
	#s = I("rows");
	get page() {
		return W(this.#s);
	}
	set page(e) {
		L(this.#s, e, !0);
	}
	#c = I(null);
	get shown() {
		return W(this.#c);
	}
	set shown(e) {
		L(this.#c, e, !0);
	}
	#l = I(_c);
	get above() {
		return W(this.#l);
	}
	set above(e) {
		L(this.#l, e);
	}
	#u = I(null);
	get last() {
		return W(this.#u);
	}
	set last(e) {
		L(this.#u, e);
	}
	#d = I(Wt([]));
	get flags() {
		return W(this.#d);
	}
	set flags(e) {
		L(this.#d, e, !0);
	}
	#f = I(!1);
	get flagged() {
		return W(this.#f);
	}
	set flagged(e) {
		L(this.#f, e, !0);
	}
	#p = I("");
	get said() {
		return W(this.#p);
	}
	set said(e) {
		L(this.#p, e, !0);
	}
	#m = P(() => this.tables[this.table]);
	get info() {
		return W(this.#m);
	}
	set info(e) {
		L(this.#m, e);
	}
	#h = P(() => this.page === "scene" && !(this.info?.scene && this.info.rows) || this.page === "row" && !this.info?.rows ? "rows" : this.page);
	get shownPage() {
		return W(this.#h);
	}
	set shownPage(e) {
		L(this.#h, e);
	}
	#g = P(() => ({
		where: this.where,
		sort: this.sort,
		descending: this.descending,
		only: this.flagged ? [...this.flags].sort((e, t) => e - t) : null
	}));
	get choice() {
		return W(this.#g);
	}
	set choice(e) {
		L(this.#g, e);
	}
	#_ = P(() => Ks(this.table, this.choice));
	get parameters() {
		return W(this.#_);
	}
	set parameters(e) {
		L(this.#_, e);
	}
	constructor() {
		this.read(), addEventListener("popstate", () => this.read());
	}
	async load() {
		this.tables = (await Hs("tables", [])).tables, this.table >= this.tables.length && (this.table = 0);
	}
	read() {
		let e = new URLSearchParams(location.search), t = (t) => (e.get(t) ?? "").split(",").filter((e) => /^\d+$/.test(e)).map(Number);
		this.table = t("table")[0] ?? 0, this.where = e.getAll("where");
		let n = e.get("sort");
		this.sort = n ? n.replace(/^-/, "") : null, this.descending = n?.startsWith("-") ?? !1, this.hidden = e.getAll("hide"), this.row = t("row")[0] ?? 0, this.page = gc.find((t) => t === e.get("page")) ?? "rows";
		let r = /^(\d+)\.\.(\d+)$/.exec(e.get("shown") ?? "");
		this.shown = r ? [Number(r[1]), Number(r[2])] : null;
		let i = Number(e.get("zoom"));
		this.above = {
			metres: i >= 1 && i <= 1e3 ? i : _c.metres,
			up: e.get("up") === "north" ? "north" : "ego",
			around: Math.min(100, t("around")[0] ?? _c.around),
			track: e.get("track")
		}, this.flags = t("flags"), this.flagged = e.get("only") === "flags";
	}
	write(e) {
		let t = [];
		this.table && t.push(["table", String(this.table)]), this.page !== "rows" && t.push(["page", this.page]), (this.row || this.page === "row" || this.page === "scene") && t.push(["row", String(this.row)]);
		for (let e of this.where) t.push(["where", e]);
		this.sort && t.push(["sort", (this.descending ? "-" : "") + this.sort]);
		for (let e of this.hidden) t.push(["hide", e]);
		if (this.flags.length && t.push(["flags", this.flags.join(",")]), this.flagged && t.push(["only", "flags"]), this.page === "storage" && this.shown && t.push(["shown", this.shown.join("..")]), this.page === "scene") {
			let { metres: e, up: n, around: r, track: i } = this.above;
			e !== _c.metres && t.push(["zoom", String(Number(e.toPrecision(3)))]), n !== _c.up && t.push(["up", n]), r !== _c.around && t.push(["around", String(r)]), i !== null && t.push(["track", i]);
		}
		let n = new URLSearchParams(t).toString(), r = location.pathname + (n ? `?${n}` : "");
		r !== location.pathname + location.search && (e ? history.pushState(null, "", r) : history.replaceState(null, "", r));
	}
	open(e) {
		this.row = e, this.page = "row", this.write(!0);
	}
	show(e) {
		this.page = e, this.write(!0);
	}
	took(e, t, n, r = [], i = 0) {
		if (!n) return;
		let a = this.last?.table === this.table && this.last.row === e ? this.last : {
			table: this.table,
			row: e,
			around: 0,
			window: [],
			groups: {}
		}, o = a.groups[t], s = {
			...a.groups,
			[t]: r.length && o ? {
				requests: o.requests + n.requests,
				bytes: o.bytes + n.bytes,
				ms: o.ms + n.ms
			} : n
		};
		this.last = {
			...a,
			around: Math.max(i, a.around),
			window: [...new Set([...a.window, ...r])],
			groups: s
		};
	}
	step(e) {
		this.row = e, this.write(!1);
	}
	look(e) {
		this.above = {
			...this.above,
			...e
		}, this.write(!1);
	}
	filter(e, t) {
		let n = this.where.filter((n) => n !== e && !(t && n.startsWith(t)));
		this.where = [...n, e], this.write(!0);
	}
	drop(e) {
		this.where = this.where.filter((t) => t !== e), this.write(!0);
	}
	sortBy(e) {
		this.sort === e ? this.descending ? [this.sort, this.descending] = [null, !1] : this.descending = !0 : [this.sort, this.descending] = [e, !1], this.write(!0);
	}
	flag(e) {
		this.flags = this.flags.includes(e) ? this.flags.filter((t) => t !== e) : [...this.flags, e].sort((e, t) => e - t), this.flags.length || (this.flagged = !1), this.write(!1);
	}
	choose(e) {
		Object.assign(this, {
			table: e,
			where: [],
			sort: null,
			descending: !1,
			hidden: [],
			row: 0,
			shown: null,
			above: _c,
			flags: [],
			flagged: !1
		}), this.write(!0);
	}
}(), vc = K("<button class=\"quiet\">Columns</button>"), yc = K("<label><input type=\"checkbox\"/> <small> </small></label>"), bc = K("<div class=\"menu\" role=\"group\" aria-label=\"Columns\"></div>"), xc = K("<p>These rows are a selection in memory, which has no address.</p>"), Sc = K("<section><h2> </h2> <button class=\"quiet\">Copy</button> <pre tabindex=\"0\"> </pre></section>"), Cc = K("<!> <p>Store options are left out: they may be secret.</p>", 1), wc = K("<div class=\"menu wide\" role=\"group\" aria-label=\"Copy as\"><!></div>"), Tc = K("<div class=\"menus\"><!> <button class=\"quiet\">Copy as</button> <!></div>");
function Ec(e, t) {
	Re(t, !0);
	let n = I(null), r = I(null), i;
	async function a(e) {
		L(n, W(n) === e ? null : e, !0), W(n) === "copy" && L(r, await Hs("copies", $.parameters).catch(() => null), !0);
	}
	async function o(e, t) {
		await navigator.clipboard.writeText(e).then(() => $.said = `Copied as ${t}`, () => $.said = "The browser does not allow copying"), setTimeout(() => $.said = "", 2500);
	}
	function s(e) {
		i?.contains(e.target) || L(n, null);
	}
	function c(e) {
		e.key === "Escape" && W(n) && (L(n, null), e.stopPropagation(), i.querySelector("button")?.focus());
	}
	let l = P(() => W(r) ? [
		["Python", W(r).python],
		["Rust", W(r).rust],
		["Command", W(r).command],
		["Save as view", W(r).view]
	] : []);
	var u = Tc();
	mr("click", qt, s);
	var d = R(u), f = (e) => {
		var t = vc();
		U(() => Z(t, "aria-expanded", W(n) === "columns")), G("click", t, () => a("columns")), q(e, t);
	};
	Y(d, (e) => {
		$.shownPage === "rows" && e(f);
	});
	var p = V(d, 2), h = V(p, 2), g = (e) => {
		var t = bc();
		X(t, 21, () => $.info?.index ?? [], Rr, (e, t) => {
			var n = yc(), r = R(n);
			di(r);
			var i = V(r), a = B(V(i), !0);
			j(n), U((e) => {
				pi(r, e), J(i, ` ${W(t).name ?? ""} `), J(a, W(t).type);
			}, [() => !$.hidden.includes(W(t).name)]), G("change", r, (e) => {
				$.hidden = e.currentTarget.checked ? $.hidden.filter((e) => e !== W(t).name) : [...$.hidden, W(t).name], $.write(!1);
			}), q(e, n);
		}), j(t), q(e, t);
	}, _ = (e) => {
		var t = wc(), n = R(t), r = (e) => {
			q(e, xc());
		}, i = (e) => {
			var t = Cc();
			X(z(t), 17, () => W(l), Rr, (e, t) => {
				var n = P(() => m(W(t), 2));
				let r = () => W(n)[0], i = () => W(n)[1];
				var a = Er(), s = z(a), c = (e) => {
					var t = Sc(), n = R(t), a = B(n, !0), s = V(n, 2), c = B(V(s, 2), !0);
					j(t), U(() => {
						J(a, r()), J(c, i());
					}), G("click", s, () => o(i(), r())), q(e, t);
				};
				Y(s, (e) => {
					i() && e(c);
				}), q(e, a);
			}), xe(2), q(e, t);
		};
		Y(n, (e) => {
			$.info?.selection ? e(r) : e(i, -1);
		}), j(t), q(e, t);
	};
	Y(h, (e) => {
		W(n) === "columns" ? e(g) : W(n) === "copy" && e(_, 1);
	}), j(u), Ci(u, (e) => i = e, () => i), U(() => Z(p, "aria-expanded", W(n) === "copy")), G("keydown", u, c), G("click", p, () => a("copy")), q(e, u), ze();
}
hr([
	"keydown",
	"click",
	"change"
]);
// src/Path.svelte
var Dc = wr("<circle r=\"5\"></circle>"), Oc = K("<span> </span>"), kc = K("<figure class=\"path\"><svg role=\"img\"><path class=\"all\"></path><path class=\"past\"></path><!></svg> <figcaption><span> </span> <!></figcaption></figure>");
function Ac(e, t) {
	Re(t, !0);
	let n = P(() => {
		let [e, n] = [t.places.map((e) => e.x), t.places.map((e) => e.y)], [r, i, a, o] = [
			Math.min(...e),
			Math.max(...e),
			Math.min(...n),
			Math.max(...n)
		], s = Math.max(i - r, o - a, 1e-9) * 1.12;
		return {
			west: (r + i - s) / 2,
			south: (a + o - s) / 2,
			wide: s
		};
	}), r = (e) => (e.x - W(n).west) / W(n).wide * 260, i = (e) => 260 - (e.y - W(n).south) / W(n).wide * 260, a = (e) => e.map((e, t) => `${t ? "L" : "M"}${r(e).toFixed(1)} ${i(e).toFixed(1)}`).join(""), o = P(() => t.places.filter((e) => e.row <= t.row)), s = P(() => W(o).at(-1) ?? t.places[0]);
	var c = kc(), l = R(c);
	Z(l, "viewBox", "0 0 260 260");
	var u = R(l), d = V(u), f = V(d), p = (e) => {
		var t = Dc();
		U((e, n) => {
			Z(t, "cx", e), Z(t, "cy", n);
		}, [() => r(W(s)), () => i(W(s))]), q(e, t);
	};
	Y(f, (e) => {
		W(s) && e(p);
	}), j(l);
	var m = V(l, 2), h = R(m), g = B(h), _ = V(h, 2), v = (e) => {
		var t = Oc(), n = B(t);
		U((e, t) => J(n, `${e ?? ""}, ${t ?? ""}`), [() => Qs(W(s).x), () => Qs(W(s).y)]), q(e, t);
	};
	Y(_, (e) => {
		W(s) && e(v);
	}), j(m), j(c), U((e, n) => {
		Z(l, "aria-label", `${t.name ?? ""}: the path from above`), Z(u, "d", e), Z(d, "d", n), J(g, `${t.name ?? ""}, from above`);
	}, [() => a(t.places), () => a(W(o))]), q(e, c), ze();
}
// src/Pictures.svelte
var jc = K("<button class=\"enlarge\"><img/></button>"), Mc = K("<p class=\"absent tall\"> </p>"), Nc = K("<span class=\"absent\" title=\"outside the sequence\">none</span>"), Pc = K("<img alt=\"\"/>"), Fc = K("<span class=\"absent\">null</span>"), Ic = K("<button><!></button>"), Lc = K("<li><!> <small> </small></li>"), Rc = K("<ol></ol>"), zc = K("<button aria-label=\"Close\"><img/></button>"), Bc = K("<figure class=\"picture\"><!> <!> <figcaption><span> </span><span> </span></figcaption></figure> <dialog><!></dialog>", 1);
function Vc(e, t) {
	Re(t, !0);
	let n = I(void 0), r = I(""), i = [];
	function a(e) {
		let t = pc(e);
		if (!t) return null;
		let n = URL.createObjectURL(new Blob([e], { type: t }));
		return i.push(n), {
			address: n,
			bytes: e.length
		};
	}
	let o = I(null), s = I([]);
	H(() => {
		let e = i;
		i = [], L(o, a(t.batch.value(t.name, 0))), L(s, t.strip ? t.strip.rows.map((e, n) => ({
			row: e,
			offset: n - t.before,
			shown: t.strip.there(t.name, n) ? a(t.strip.value(t.name, n)) : null
		})) : []), setTimeout(() => e.forEach((e) => URL.revokeObjectURL(e)), 500);
	}), H(() => () => i.forEach((e) => URL.revokeObjectURL(e)));
	var c = Bc(), l = z(c), u = R(l), d = (e) => {
		var i = jc(), a = B(i);
		U(() => {
			Z(i, "aria-label", `Enlarge ${t.name ?? ""}`), Z(a, "src", W(o).address), Z(a, "alt", `${t.name ?? ""} of row ${$.row ?? ""}`);
		}), G("click", i, () => W(n)?.showModal()), mr("load", a, (e) => {
			let t = e.currentTarget;
			L(r, `${t.naturalWidth} × ${t.naturalHeight}`);
		}), mr("error", a, () => L(r, "the browser cannot show it")), fr(a), q(e, i);
	}, f = (e) => {
		var n = Mc(), r = B(n, !0);
		U((e) => J(r, e), [() => t.batch.value(t.name, 0) === null ? "null" : "no picture"]), q(e, n);
	};
	Y(u, (e) => {
		W(o) ? e(d) : e(f, -1);
	});
	var p = V(u, 2), m = (e) => {
		var n = Rc();
		let r;
		X(n, 21, () => W(s), (e) => e.offset, (e, t) => {
			var n = Lc(), r = R(n), i = (e) => {
				q(e, Nc());
			}, a = (e) => {
				var n = Ic();
				let r;
				var i = R(n), a = (e) => {
					var n = Pc();
					U(() => Z(n, "src", W(t).shown.address)), q(e, n);
				}, o = (e) => {
					q(e, Fc());
				};
				Y(i, (e) => {
					W(t).shown ? e(a) : e(o, -1);
				}), j(n), U(() => {
					n.disabled = $.info?.view || $.info?.selection || W(t).offset === 0, Z(n, "aria-label", `Offset ${W(t).offset ?? ""}`), r = Qr(n, 1, "", null, r, { here: W(t).offset === 0 });
				}), G("click", n, () => $.step($.row + W(t).offset)), q(e, n);
			};
			Y(r, (e) => {
				W(t).row === null ? e(i) : e(a, -1);
			});
			var o = B(V(r, 2));
			j(n), U(() => J(o, `${W(t).offset > 0 ? "+" : ""}${(W(t).offset || "row") ?? ""}`)), q(e, n);
		}), j(n), U(() => {
			r = Qr(n, 1, "strip", null, r, { stale: t.isStale }), Z(n, "aria-label", `Neighbours of ${t.name ?? ""}`);
		}), q(e, n);
	};
	Y(p, (e) => {
		W(s).length && e(m);
	});
	var h = V(p, 2), g = R(h), _ = B(g, !0), v = B(V(g));
	j(h), j(l);
	var y = V(l, 2), b = R(y), x = (e) => {
		var r = zc();
		Xe(r, !0);
		var i = B(r);
		U(() => {
			Z(i, "src", W(o).address), Z(i, "alt", `${t.name ?? ""} of row ${$.row ?? ""}, enlarged`);
		}), G("click", r, () => W(n)?.close()), q(e, r);
	};
	Y(b, (e) => {
		W(o) && e(x);
	}), j(y), Ci(y, (e) => L(n, e), () => W(n)), U((e) => {
		J(_, t.name), J(v, `${W(r) ?? ""}${e ?? ""}`), Z(y, "aria-label", t.name);
	}, [() => W(o) ? ` · ${Xs(W(o).bytes)}` : ""]), q(e, c), ze();
}
hr(["click"]);
// node_modules/uplot/dist/uPlot.esm.js
var Hc = !0, Uc = "uplot", Wc = "u-hz", Gc = "u-vt", Kc = "u-title", qc = "u-wrap", Jc = "u-under", Yc = "u-over", Xc = "u-axis", Zc = "u-off", Qc = "u-select", $c = "u-cursor-x", el = "u-cursor-y", tl = "u-cursor-pt", nl = "u-legend", rl = "u-live", il = "u-inline", al = "u-series", ol = "u-marker", sl = "u-label", cl = "u-value", ll = "width", ul = "height", dl = "top", fl = "bottom", pl = "left", ml = "right", hl = "#000", gl = "#0000", _l = "mousemove", vl = "mousedown", yl = "mouseup", bl = "mouseenter", xl = "mouseleave", Sl = "dblclick", Cl = "resize", wl = "scroll", Tl = "change", El = "dppxchange", Dl = "--", Ol = typeof window < "u", kl = Ol ? document : null, Al = Ol ? window : null, jl = Ol ? navigator : null, Ml, Nl;
function Pl() {
	let e = devicePixelRatio;
	Ml != e && (Ml = e, Nl && Yl(Tl, Nl, Pl), Nl = matchMedia(`(min-resolution: ${Ml - .001}dppx) and (max-resolution: ${Ml + .001}dppx)`), Jl(Tl, Nl, Pl), Al.dispatchEvent(new CustomEvent(El)));
}
function Fl(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function Il(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function Ll(e, t, n) {
	e.style[t] = n + "px";
}
function Rl(e, t, n, r) {
	let i = kl.createElement(e);
	return t != null && Fl(i, t), n?.insertBefore(i, r), i;
}
function zl(e, t) {
	return Rl("div", e, t);
}
var Bl = new WeakMap();
function Vl(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != Bl.get(e) && (e.style.transform = a, Bl.set(e, a), t < 0 || n < 0 || t > r || n > i ? Fl(e, Zc) : Il(e, Zc));
}
var Hl = new WeakMap();
function Ul(e, t, n) {
	let r = t + n;
	r != Hl.get(e) && (Hl.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var Wl = new WeakMap();
function Gl(e, t, n, r) {
	let i = t + "" + n;
	i != Wl.get(e) && (Wl.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var Kl = { passive: !0 }, ql = {
	...Kl,
	capture: !0
};
function Jl(e, t, n, r) {
	t.addEventListener(e, n, r ? ql : Kl);
}
function Yl(e, t, n, r) {
	t.removeEventListener(e, n, Kl);
}
Ol && Pl();
function Xl(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 2147483647;
	for (; r - n > 1;) i = a ? n + r >> 1 : vu((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function Zl(e) {
	return (t, n, r) => {
		let i = -1, a = -1;
		for (let a = n; a <= r; a++) if (e(t[a])) {
			i = a;
			break;
		}
		for (let i = r; i >= n; i--) if (e(t[i])) {
			a = i;
			break;
		}
		return [i, a];
	};
}
var Ql = (e) => e != null, $l = (e) => e != null && e > 0, eu = Zl(Ql), tu = Zl($l);
function nu(e, t, n, r = 0, i = !1) {
	let a = i ? tu : eu, o = i ? $l : Ql;
	[t, n] = a(e, t, n);
	let s = e[t], c = e[t];
	if (t > -1) {
		if (r == 1) s = e[t], c = e[n];
		else if (r == -1) s = e[n], c = e[t];
		else for (let r = t; r <= n; r++) {
			let t = e[r];
			o(t) && (t < s ? s = t : t > c && (c = t));
		}
	}
	return [s ?? ku, c ?? -ku];
}
function ru(e, t, n, r) {
	let i = wu(e), a = wu(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? Tu : Eu, s = i == 1 ? vu : bu, c = a == 1 ? bu : vu, l = s(o(_u(e))), u = c(o(_u(t))), d = Cu(n, l), f = Cu(n, u);
	return n == 10 && (l < 0 && (d = Gu(d, -l)), u < 0 && (f = Gu(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = Wu(e, d), t = Uu(t, f)), [e, t];
}
function iu(e, t, n, r) {
	let i = ru(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var au = .1, ou = {
	mode: 3,
	pad: au
}, su = {
	pad: 0,
	soft: null,
	mode: 0
}, cu = {
	min: su,
	max: su
};
function lu(e, t, n, r) {
	return nd(n) ? fu(e, t, n) : (su.pad = n, su.soft = r ? 0 : null, su.mode = r ? 3 : 0, fu(e, t, cu));
}
function uu(e, t) {
	return e ?? t;
}
function du(e, t, n) {
	for (t = uu(t, 0), n = uu(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function fu(e, t, n) {
	let r = n.min, i = n.max, a = uu(r.pad, 0), o = uu(i.pad, 0), s = uu(r.hard, -ku), c = uu(i.hard, ku), l = uu(r.soft, ku), u = uu(i.soft, -ku), d = uu(r.mode, 0), f = uu(i.mode, 0), p = t - e, m = Tu(p), h = Su(_u(e), _u(t)), g = _u(Tu(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != ku && (a = 0), f == 2 && u != -ku && (o = 0)));
	let _ = p || h || 1e3, v = Cu(10, vu(Tu(_))), y = Gu(Wu(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : ku, x = Su(s, y < b && e >= b ? b : xu(b, y)), S = Gu(Uu(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -ku, w = xu(c, S > C && t <= C ? C : Su(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var pu = new Intl.NumberFormat(Ol ? jl.language : "en-US"), mu = (e) => pu.format(e), hu = Math, gu = hu.PI, _u = hu.abs, vu = hu.floor, yu = hu.round, bu = hu.ceil, xu = hu.min, Su = hu.max, Cu = hu.pow, wu = hu.sign, Tu = hu.log10, Eu = hu.log2, Du = (e, t = 1) => hu.sinh(e) * t, Ou = (e, t = 1) => hu.asinh(e / t), ku = Infinity;
function Au(e) {
	return (Tu((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function ju(e, t, n) {
	return xu(Su(e, t), n);
}
function Mu(e) {
	return typeof e == "function";
}
function Nu(e) {
	return Mu(e) ? e : () => e;
}
var Pu = () => {}, Fu = (e) => e, Iu = (e, t) => t, Lu = (e) => null, Ru = (e) => !0, zu = (e, t) => e == t, Bu = /\.\d*?(?=9{6,}|0{6,})/gm, Vu = (e) => {
	if ($u(e) || Ku.has(e)) return e;
	let t = `${e}`, n = t.match(Bu);
	if (n == null) return e;
	let r = n[0].length - 1;
	if (t.indexOf("e-") != -1) {
		let [e, n] = t.split("e");
		return +`${Vu(e)}e${n}`;
	}
	return Gu(e, r);
};
function Hu(e, t) {
	return Vu(Gu(Vu(e / t)) * t);
}
function Uu(e, t) {
	return Vu(bu(Vu(e / t)) * t);
}
function Wu(e, t) {
	return Vu(vu(Vu(e / t)) * t);
}
function Gu(e, t = 0) {
	if ($u(e)) return e;
	let n = 10 ** t;
	return yu(e * n * (1 + 2 ** -52)) / n;
}
var Ku = new Map();
function qu(e) {
	return (("" + e).split(".")[1] || "").length;
}
function Ju(e, t, n, r) {
	let i = [], a = r.map(qu);
	for (let o = t; o < n; o++) {
		let t = _u(o), n = Gu(Cu(e, o), t);
		for (let s = 0; s < r.length; s++) {
			let c = e == 10 ? +`${r[s]}e${o}` : r[s] * n, l = (o >= 0 ? 0 : t) + (o >= a[s] ? 0 : a[s]), u = e == 10 ? c : Gu(c, l);
			i.push(u), Ku.set(u, l);
		}
	}
	return i;
}
var Yu = {}, Xu = [], Zu = [null, null], Qu = Array.isArray, $u = Number.isInteger, ed = (e) => e === void 0;
function td(e) {
	return typeof e == "string";
}
function nd(e) {
	let t = !1;
	if (e != null) {
		let n = e.constructor;
		t = n == null || n == Object;
	}
	return t;
}
function rd(e) {
	return typeof e == "object" && !!e;
}
var id = Object.getPrototypeOf(Uint8Array), ad = "__proto__";
function od(e, t = nd) {
	let n;
	if (Qu(e)) {
		let r = e.find((e) => e != null);
		if (Qu(r) || t(r)) {
			n = Array(e.length);
			for (let r = 0; r < e.length; r++) n[r] = od(e[r], t);
		} else n = e.slice();
	} else if (e instanceof id) n = e.slice();
	else if (t(e)) {
		n = {};
		for (let r in e) r != ad && (n[r] = od(e[r], t));
	} else n = e;
	return n;
}
function sd(e) {
	let t = arguments;
	for (let n = 1; n < t.length; n++) {
		let r = t[n];
		for (let t in r) t != ad && (nd(e[t]) ? sd(e[t], od(r[t])) : e[t] = od(r[t]));
	}
	return e;
}
var cd = 0, ld = 1, ud = 2;
function dd(e, t, n) {
	for (let r = 0, i, a = -1; r < t.length; r++) {
		let o = t[r];
		if (o > a) {
			for (i = o - 1; i >= 0 && e[i] == null;) e[i--] = null;
			for (i = o + 1; i < n && e[i] == null;) e[a = i++] = null;
		}
	}
}
function fd(e, t) {
	if (hd(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return gd(t[0]) || (t = md(t)), t;
	}
	let n = new Set();
	for (let t = 0; t < e.length; t++) {
		let r = e[t][0], i = r.length;
		for (let e = 0; e < i; e++) n.add(r[e]);
	}
	let r = [Array.from(n).sort((e, t) => e - t)], i = r[0].length, a = new Map();
	for (let e = 0; e < i; e++) a.set(r[0][e], e);
	for (let n = 0; n < e.length; n++) {
		let o = e[n], s = o[0];
		for (let e = 1; e < o.length; e++) {
			let c = o[e], l = Array(i).fill(void 0), u = t ? t[n][e] : ld, d = [];
			for (let e = 0; e < c.length; e++) {
				let t = c[e], n = a.get(s[e]);
				t === null ? u != cd && (l[n] = t, u == ud && d.push(n)) : l[n] = t;
			}
			dd(l, d, i), r.push(l);
		}
	}
	return r;
}
var pd = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function md(e) {
	let t = e[0], n = t.length, r = Array(n);
	for (let e = 0; e < r.length; e++) r[e] = e;
	r.sort((e, n) => t[e] - t[n]);
	let i = [];
	for (let t = 0; t < e.length; t++) {
		let a = e[t], o = Array(n);
		for (let e = 0; e < n; e++) o[e] = a[r[e]];
		i.push(o);
	}
	return i;
}
function hd(e) {
	let t = e[0][0], n = t.length;
	for (let r = 1; r < e.length; r++) {
		let i = e[r][0];
		if (i.length != n) return !1;
		if (i != t) {
			for (let e = 0; e < n; e++) if (i[e] != t[e]) return !1;
		}
	}
	return !0;
}
function gd(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = Su(1, vu((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var _d = [
	"January",
	"February",
	"March",
	"April",
	"May",
	"June",
	"July",
	"August",
	"September",
	"October",
	"November",
	"December"
], vd = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function yd(e) {
	return e.slice(0, 3);
}
var bd = vd.map(yd), xd = {
	MMMM: _d,
	MMM: _d.map(yd),
	WWWW: vd,
	WWW: bd
};
function Sd(e) {
	return (e < 10 ? "0" : "") + e;
}
function Cd(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var wd = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => Sd(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => Sd(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => Sd(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => Sd(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => Sd(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => Cd(e.getMilliseconds())
};
function Td(e, t) {
	t ||= xd;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? wd[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var Ed = new Intl.DateTimeFormat().resolvedOptions().timeZone;
function Dd(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = new Date(+e + e.getTimezoneOffset() * 6e4) : t == Ed ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}
var Od = (e) => e % 1 == 0, kd = [
	1,
	2,
	2.5,
	5
], Ad = Ju(10, -32, 0, kd), jd = Ju(10, 0, 32, kd), Md = jd.filter(Od), Nd = Ad.concat(jd), Pd = "\n", Fd = "{YYYY}", Id = Pd + Fd, Ld = "{M}/{D}", Rd = Pd + Ld, zd = Rd + "/{YY}", Bd = "{aa}", Vd = "{h}:{mm}" + Bd, Hd = Pd + Vd, Ud = ":{ss}", Wd = null;
function Gd(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? Ju(10, 0, 3, kd).filter(Od) : Ju(10, -3, 0, kd)).concat([
		t,
		t * 5,
		t * 10,
		t * 15,
		t * 30,
		n,
		n * 5,
		n * 10,
		n * 15,
		n * 30,
		r,
		r * 2,
		r * 3,
		r * 4,
		r * 6,
		r * 8,
		r * 12,
		i,
		i * 2,
		i * 3,
		i * 4,
		i * 5,
		i * 6,
		i * 7,
		i * 8,
		i * 9,
		i * 10,
		i * 15,
		a,
		a * 2,
		a * 3,
		a * 4,
		a * 6,
		o,
		o * 2,
		o * 5,
		o * 10,
		o * 25,
		o * 50,
		o * 100
	]), c = [
		[
			o,
			Fd,
			Wd,
			Wd,
			Wd,
			Wd,
			Wd,
			Wd,
			1
		],
		[
			i * 28,
			"{MMM}",
			Id,
			Wd,
			Wd,
			Wd,
			Wd,
			Wd,
			1
		],
		[
			i,
			Ld,
			Id,
			Wd,
			Wd,
			Wd,
			Wd,
			Wd,
			1
		],
		[
			r,
			"{h}" + Bd,
			zd,
			Wd,
			Rd,
			Wd,
			Wd,
			Wd,
			1
		],
		[
			n,
			Vd,
			zd,
			Wd,
			Rd,
			Wd,
			Wd,
			Wd,
			1
		],
		[
			t,
			Ud,
			zd + " " + Vd,
			Wd,
			Rd + " " + Vd,
			Wd,
			Hd,
			Wd,
			1
		],
		[
			e,
			Ud + ".{fff}",
			zd + " " + Vd,
			Wd,
			Rd + " " + Vd,
			Wd,
			Hd,
			Wd,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = Gu(g * e, 3), v = tf(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = Gu(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : Gu(tf(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(yu(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = tf(c + r * a, l + n * a, 1), s = o - t(Gu(o * e, 3));
					i = Gu((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (vu(l) - vu(_)) + Uu(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = Gu(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = vu(Gu(h + g, 6)) % 24, n = t(o).getHours() - e;
					n > 1 && (n = -1), o -= n * r, h = (h + g) % 24;
					let i = p[p.length - 1];
					Gu((o - i) / d, 3) * v >= .7 && p.push(o);
				} else p.push(o);
			}
			return p;
		};
	}
	return [
		s,
		c,
		l
	];
}
var [Kd, qd, Jd] = Gd(1), [Yd, Xd, Zd] = Gd(.001);
Ju(2, -53, 53, [1]);
function Qd(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function $d(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function ef(e, t) {
	let n = Td(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function tf(e, t, n) {
	return new Date(e, t, n);
}
function nf(e, t) {
	return t(e);
}
var rf = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function af(e, t) {
	return (n, r, i, a) => a == null ? Dl : t(e(r));
}
function of(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function sf(e, t) {
	return e.series[t].fill(e, t);
}
var cf = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: Pu,
	markers: {
		show: !0,
		width: 2,
		stroke: of,
		fill: sf,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function lf(e, t) {
	let n = e.cursor.points, r = zl(), i = n.size(e, t);
	Ll(r, ll, i), Ll(r, ul, i);
	let a = i / -2;
	Ll(r, "marginLeft", a), Ll(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && Ll(r, "borderWidth", o), r;
}
function uf(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function df(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function ff(e, t) {
	return e.series[t].points.size;
}
var pf = [0, 0];
function mf(e, t, n) {
	return pf[0] = t, pf[1] = n, pf;
}
function hf(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function gf(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var _f = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: mf,
	points: {
		one: !1,
		show: lf,
		size: ff,
		width: 0,
		stroke: df,
		fill: uf
	},
	bind: {
		mousedown: hf,
		mouseup: hf,
		click: hf,
		dblclick: hf,
		mousemove: gf,
		mouseleave: gf,
		mouseenter: gf
	},
	drag: {
		setScale: !0,
		x: !0,
		y: !1,
		dist: 0,
		uni: null,
		click: (e, t) => {
			t.stopPropagation(), t.stopImmediatePropagation();
		},
		_x: !1,
		_y: !1
	},
	focus: {
		dist: (e, t, n, r, i) => r - i,
		prox: -1,
		bias: 0
	},
	hover: {
		skip: [void 0],
		prox: null,
		bias: 0
	},
	left: -10,
	top: -10,
	idx: null,
	dataIdx: null,
	idxs: null,
	event: null
}, vf = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, yf = sd({}, vf, { filter: Iu }), bf = sd({}, yf, { size: 10 }), xf = sd({}, vf, { show: !1 }), Sf = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", Cf = "bold " + Sf, wf = 1.5, Tf = {
	show: !0,
	scale: "x",
	stroke: hl,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Cf,
	side: 2,
	grid: yf,
	ticks: bf,
	border: xf,
	font: Sf,
	lineGap: wf,
	rotate: 0
}, Ef = "Value", Df = "Time", Of = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: ku,
	max: -Infinity,
	idxs: []
};
function kf(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : mu(e));
}
function Af(e, t, n, r, i, a, o) {
	let s = [], c = Ku.get(i) || 0;
	n = o ? n : Gu(Uu(n, i), c);
	for (let e = n; e <= r; e = Gu(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function jf(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = Cu(c, vu((c == 10 ? Tu : Eu)(n))), c == 10 && (i = Nd[Xl(i, Nd)]);
	let l = n, u = i * c;
	c == 10 && (u = Nd[Xl(u, Nd)]);
	do
		s.push(l), l += i, c == 10 && !Ku.has(l) && (l = Gu(l, Ku.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = Nd[Xl(u, Nd)]));
	while (l <= r);
	return s;
}
function Mf(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? jf(e, t, Su(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? jf(e, t, Su(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var Nf = /./, Pf = /[12357]/, Ff = /[125]/, If = /1/, Lf = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function Rf(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? Nf : c(7, o) - u >= l ? Pf : c(5, o) - u >= l ? Ff : If;
	if (d == If) {
		let e = _u(c(1, o) - u);
		if (e < l) return Lf(t.slice().reverse(), s.distr, d, bu(l / e)).reverse();
	}
	return Lf(t, s.distr, d, 1);
}
function zf(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = _u(c(1, o) - c(2, o));
	return l < s ? Lf(t.slice().reverse(), 3, Nf, bu(s / l)).reverse() : t;
}
function Bf(e, t, n, r) {
	return r == null ? Dl : t == null ? "" : mu(t);
}
var Vf = {
	show: !0,
	scale: "y",
	stroke: hl,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Cf,
	side: 3,
	grid: yf,
	ticks: bf,
	border: xf,
	font: Sf,
	lineGap: wf,
	rotate: 0
};
function Hf(e, t) {
	return Gu((3 + (e || 1) * 2) * t, 3);
}
function Uf(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = _u(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * Ml);
	return r[1] - r[0] <= o;
}
var Wf = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: ku,
	max: -Infinity
}, Gf = (e, t, n, r, i) => i, Kf = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: Gf,
	alpha: 1,
	facets: [sd({}, Wf, { scale: "x" }), sd({}, Wf, { scale: "y" })]
}, qf = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: Gf,
	alpha: 1,
	points: {
		show: Uf,
		filter: null
	},
	values: null,
	min: ku,
	max: -Infinity,
	idxs: [],
	path: null,
	clip: null
};
function Jf(e, t, n, r, i) {
	return n / 10;
}
var Yf = {
	time: Hc,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, Xf = sd({}, Yf, {
	time: !1,
	ori: 1
}), Zf = {};
function Qf(e, t) {
	let n = Zf[e];
	return n || (n = {
		key: e,
		plots: [],
		sub(e) {
			n.plots.push(e);
		},
		unsub(e) {
			n.plots = n.plots.filter((t) => t != e);
		},
		pub(e, t, r, i, a, o, s) {
			for (let c = 0; c < n.plots.length; c++) n.plots[c] != t && n.plots[c].pub(e, t, r, i, a, o, s);
		}
	}, e != null && (Zf[e] = n)), n;
}
var $f = 1, ep = 2;
function tp(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, up, fp, mp, gp, vp) : n(i, c, l, u, d, _, g, p, f, h, m, dp, pp, hp, _p, yp);
}
function np(e, t) {
	let n = 0, r = 0, i = uu(e.bands, Xu);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function rp(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function ip(e, t, n, r, i, a) {
	return tp(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? fp : pp, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function ap(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? mp : hp, c = n;
		for (let t = 0; t < e.length; t++) {
			let n = e[t];
			if (n[1] > n[0]) {
				let e = n[0] - c;
				e > 0 && s(o, c, r, e, r + a), c = n[1];
			}
		}
		let l = n + i - c;
		l > 0 && s(o, c, r - 5, l, r + a + 10);
	}
	return o;
}
function op(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function sp(e, t, n, r, i, a, o) {
	let s = [], c = e.length;
	for (let l = i == 1 ? n : r; l >= n && l <= r; l += i) if (t[l] === null) {
		let u = l, d = l;
		if (i == 1) for (; ++l <= r && t[l] === null;) d = l;
		else for (; --l >= n && t[l] === null;) d = l;
		let f = a(e[u]), p = d == u ? f : a(e[d]), m = u - i;
		f = o <= 0 && m >= 0 && m < c ? a(e[m]) : f;
		let h = d + i;
		p = o >= 0 && h >= 0 && h < c ? a(e[h]) : p, p >= f && s.push([f, p]);
	}
	return s;
}
function cp(e) {
	return e == 0 ? Fu : e == 1 ? yu : (t) => Hu(t, e);
}
function lp(e) {
	let t = e == 0 ? up : dp, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = xu(c, o / 2, s / 2), l = xu(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var up = (e, t, n) => {
	e.moveTo(t, n);
}, dp = (e, t, n) => {
	e.moveTo(n, t);
}, fp = (e, t, n) => {
	e.lineTo(t, n);
}, pp = (e, t, n) => {
	e.lineTo(n, t);
}, mp = lp(0), hp = lp(1), gp = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, _p = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, vp = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, yp = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function bp(e) {
	return (e, t, n, r, i) => tp(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = up, v = gp) : (_ = dp, v = _p);
		let y = Gu(g.width * Ml, 3), b = (g.size - g.width) / 2 * Ml, x = Gu(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: ee, width: T, height: E } = e.bbox;
		mp(C, w - x, ee - x, T + x * 2, E + x * 2);
		let te = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, gu * 2);
			}
		};
		if (i) i.forEach(te);
		else for (let e = n; e <= r; e++) te(e);
		return {
			stroke: y > 0 ? S : null,
			fill: S,
			clip: C,
			flags: 3
		};
	});
}
function xp(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var Sp = xp(fp), Cp = xp(pp);
function wp(e) {
	let t = uu(e?.alignGaps, 0);
	return (e, n, r, i) => tp(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = eu(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = fp, b = Sp) : (y = pp, b = Cp);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: $f
		}, C = S.stroke, w = !1;
		if (i - r >= m * 4) {
			let t = (t) => e.posToVal(t, c.key, !0), n = null, a = null, l, u, d, f = _(o[x == 1 ? r : i]), p = _(o[r]), m = _(o[i]), h = t(x == 1 ? p + 1 : m - 1);
			for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
				let r = o[e], i = (x == 1 ? r < h : r > h) ? f : _(r), c = s[e];
				i == f ? c == null ? c === null && (w = !0) : (u = c, n == null ? (y(C, i, v(u)), l = n = a = u) : u < n ? n = u : u > a && (a = u)) : (n != null && b(C, f, v(n), v(a), v(l), v(u)), c == null ? (n = a = null, c === null && (w = !0)) : (u = c, y(C, i, v(u)), n = a = l = u), f = i, h = t(f + x));
			}
			n != null && n != a && d != f && b(C, f, v(n), v(a), v(l), v(u));
		} else for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
			let t = s[e];
			t === null ? w = !0 : t != null && y(C, _(o[e]), v(t));
		}
		let [ee, T] = np(e, n);
		if (a.fill != null || ee != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, ee)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...sp(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = ap(l, c.ori, f, p, m, h);
		}
		return T != 0 && (S.band = T == 2 ? [ip(e, n, r, i, C, -1), ip(e, n, r, i, C, 1)] : ip(e, n, r, i, C, T)), S;
	});
}
function Tp(e) {
	let t = uu(e.align, 1), n = uu(e.ascDesc, !1), r = uu(e.alignGaps, 0), i = uu(e.extend, !1);
	return (e, a, o, s) => tp(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = eu(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? fp : pp, ee = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: $f
		}, T = ee.stroke, E = d.dir * (d.ori == 0 ? 1 : -1), te = C(u[E == 1 ? o : s]), ne = S(l[E == 1 ? o : s]), re = ne, ie = ne;
		i && t == -1 && (ie = b, w(T, ie, te)), w(T, ne, te);
		for (let e = E == 1 ? o : s; e >= o && e <= s; e += E) {
			let n = u[e];
			if (n == null) continue;
			let r = S(l[e]), i = C(n);
			t == 1 ? w(T, r, te) : w(T, re, i), w(T, r, i), te = i, re = r;
		}
		let ae = re;
		i && t == 1 && (ae = b + x, w(T, ae, te));
		let [oe, se] = np(e, a);
		if (c.fill != null || oe != 0) {
			let t = ee.fill = new Path2D(T), n = C(c.fillTo(e, a, c.min, c.max, oe));
			w(t, ae, n), w(t, ie, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...sp(l, u, o, s, E, S, r));
			let f = c.width * Ml / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), ee.gaps = i = c.gaps(e, a, o, s, i), ee.clip = ap(i, d.ori, h, g, _, v);
		}
		return se != 0 && (ee.band = se == 2 ? [ip(e, a, o, s, T, -1), ip(e, a, o, s, T, 1)] : ip(e, a, o, s, T, se)), ee;
	});
}
function Ep(e, t, n, r, i, a, o = ku) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = Infinity; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = _u(e[c] - e[s]);
				t < l && (l = t, o = _u(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function Dp(e) {
	e ||= Yu;
	let t = uu(e.size, [
		.6,
		ku,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = Nu(i), o = 1 - t[0], s = uu(t[1], ku), c = uu(t[2], 1), l = uu(e.disp, Yu), u = uu(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => tp(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let ee = m.pxRound, T = n, E = r * Ml, te = s * Ml, ne = c * Ml, re, ie;
		_.ori == 0 ? [re, ie] = a(e, t) : [ie, re] = a(e, t);
		let ae = _.dir * (_.ori == 0 ? 1 : -1), oe = _.ori == 0 ? mp : hp, se = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, ce = uu(e.bands, Xu).find((e) => e.series[0] == t), le = ce == null ? 0 : ce.dir, ue = m.fillTo(e, t, m.min, m.max, le), de = ee(b(ue, v, w, S)), D, fe, O, pe = C, me = ee(m.width * Ml), he = !1, ge = null, _e = null, k = null, ve = null;
		d != null && (me == 0 || f != null) && (he = !0, ge = d.values(e, t, i, p), _e = new Map(), new Set(ge).forEach((e) => {
			e != null && _e.set(e, new Path2D());
		}), me > 0 && (k = f.values(e, t, i, p), ve = new Map(), new Set(k).forEach((e) => {
			e != null && ve.set(e, new Path2D());
		})));
		let { x0: A, size: ye } = l;
		if (A != null && ye != null) {
			T = 1, h = A.values(e, t, i, p), A.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = ye.values(e, t, i, p);
			fe = ye.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), pe = Ep(h, g, y, _, C, x, pe), O = pe - fe + E;
		} else pe = Ep(h, g, y, _, C, x, pe), O = pe * o + E, fe = pe - O;
		O < 1 && (O = 0), me >= fe / 2 && (me = 0), O < 5 && (ee = Fu);
		let be = O > 0, j = pe - O - (be ? me : 0);
		fe = ee(ju(j, ne, te)), D = (T == 0 ? fe / 2 : T == ae ? 0 : fe) - T * ae * ((T == 0 ? E / 2 : 0) + (be ? me / 2 : 0));
		let xe = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, Se = he ? null : new Path2D(), Ce = null;
		if (ce != null) Ce = e.data[ce.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), Ce = n.values(e, t, i, p));
		}
		let we = re * fe, Te = ie * fe;
		for (let n = ae == 1 ? i : p; n >= i && n <= p; n += ae) {
			let r = g[n];
			if (r == null) continue;
			if (Ce != null) {
				let e = Ce[n] ?? 0;
				if (r - e == 0) continue;
				de = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(uu(r, ue), v, w, S), o = ee(i - D), s = ee(Su(a, de)), c = ee(xu(a, de)), u = s - c;
			if (r != null) {
				let i = r < 0 ? Te : we, a = r < 0 ? we : Te;
				he ? (me > 0 && k[n] != null && oe(ve.get(k[n]), o, c + vu(me / 2), fe, Su(0, u - me), i, a), ge[n] != null && oe(_e.get(ge[n]), o, c + vu(me / 2), fe, Su(0, u - me), i, a)) : oe(Se, o, c + vu(me / 2), fe, Su(0, u - me), i, a), se(e, t, n, o - me / 2, c, fe + me, u);
			}
		}
		return me > 0 ? xe.stroke = he ? ve : Se : he || (xe._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, xe.width = 0), xe.fill = he ? _e : Se, xe;
	});
}
function Op(e, t) {
	let n = uu(t?.alignGaps, 0);
	return (t, r, i, a) => tp(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = eu(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = up, S = fp, x = vp) : (b = dp, S = pp, x = yp);
		let C = l.dir * (l.ori == 0 ? 1 : -1), w = v(s[C == 1 ? i : a]), ee = w, T = [], E = [];
		for (let e = C == 1 ? i : a; e >= i && e <= a; e += C) if (c[e] != null) {
			let t = s[e], n = v(t);
			T.push(ee = n), E.push(y(c[e]));
		}
		let te = {
			stroke: e(T, E, b, S, x, _),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: $f
		}, ne = te.stroke, [re, ie] = np(t, r);
		if (o.fill != null || re != 0) {
			let e = te.fill = new Path2D(ne), n = y(o.fillTo(t, r, o.min, o.max, re));
			S(e, ee, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...sp(s, c, i, a, C, v, n)), te.gaps = e = o.gaps(t, r, i, a, e), te.clip = ap(e, l.ori, p, m, h, g);
		}
		return ie != 0 && (te.band = ie == 2 ? [ip(t, r, i, a, ne, -1), ip(t, r, i, a, ne, 1)] : ip(t, r, i, a, ne, ie)), te;
	});
}
function kp(e) {
	return Op(Ap, e);
}
function Ap(e, t, n, r, i, a) {
	let o = e.length;
	if (o < 2) return null;
	let s = new Path2D();
	if (n(s, e[0], t[0]), o == 2) r(s, e[1], t[1]);
	else {
		let n = Array(o), r = Array(o - 1), a = Array(o - 1), c = Array(o - 1);
		for (let n = 0; n < o - 1; n++) a[n] = t[n + 1] - t[n], c[n] = e[n + 1] - e[n], r[n] = a[n] / c[n];
		n[0] = r[0];
		for (let e = 1; e < o - 1; e++) r[e] === 0 || r[e - 1] === 0 || r[e - 1] > 0 != r[e] > 0 ? n[e] = 0 : (n[e] = 3 * (c[e - 1] + c[e]) / ((2 * c[e] + c[e - 1]) / r[e - 1] + (c[e] + 2 * c[e - 1]) / r[e]), isFinite(n[e]) || (n[e] = 0));
		n[o - 1] = r[o - 2];
		for (let r = 0; r < o - 1; r++) i(s, e[r] + c[r] / 3, t[r] + n[r] * c[r] / 3, e[r + 1] - c[r] / 3, t[r + 1] - n[r + 1] * c[r] / 3, e[r + 1], t[r + 1]);
	}
	return s;
}
var jp = new Set();
function Mp() {
	for (let e of jp) e.syncRect(!0);
}
Ol && (Jl(Cl, Al, Mp), Jl(wl, Al, Mp, !0), Jl(El, Al, () => {
	Jp.pxRatio = Ml;
}));
var Np = wp(), Pp = bp();
function Fp(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => Lp(e, r, t, n));
}
function Ip(e, t) {
	return e.map((e, n) => n == 0 ? {} : sd({}, t, e));
}
function Lp(e, t, n, r) {
	return sd({}, t == 0 ? n : r, e);
}
function Rp(e, t, n) {
	return t == null ? Zu : [t, n];
}
var zp = Rp;
function Bp(e, t, n) {
	return t == null ? Zu : lu(t, n, au, !0);
}
function Vp(e, t, n, r) {
	return t == null ? Zu : ru(t, n, e.scales[r].log, !1);
}
var Hp = Vp;
function Up(e, t, n, r) {
	return t == null ? Zu : iu(t, n, e.scales[r].log, !1);
}
var Wp = Up;
function Gp(e, t, n, r, i) {
	let a = Su(Au(e), Au(t)), o = t - e, s = Xl(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? Ku.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function Kp(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = yu((n = +r) * Ml)) + "px"), [
		e,
		t,
		n
	];
}
function qp(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = Gu(e[2] * Ml, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function Jp(e, t, n) {
	let r = { mode: uu(e.mode, 1) }, i = r.mode;
	function a(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? 1 - i : i);
	}
	function o(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? i : 1 - i);
	}
	function s(e, t, n, r) {
		return t.ori == 0 ? a(e, t, n, r) : o(e, t, n, r);
	}
	r.valToPosH = a, r.valToPosV = o;
	let c = !1;
	r.status = 0;
	let l = r.root = zl(Uc);
	if (e.id != null && (l.id = e.id), Fl(l, e.class), e.title) {
		let t = zl(Kc, l);
		t.textContent = e.title;
	}
	let u = Rl("canvas"), d = r.ctx = u.getContext("2d"), f = zl(qc, l);
	Jl("click", f, (e) => {
		e.target === m && (sn != nn || cn != rn) && un.click(r, e);
	}, !0);
	let p = r.under = zl(Jc, f);
	f.appendChild(u);
	let m = r.over = zl(Yc, f);
	e = od(e);
	let h = +uu(e.pxAlign, 1), g = cp(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? Fp(e.series || [], Of, qf, !1) : Ip(e.series || [null], Kf), y = r.axes = Fp(e.axes || [], Tf, Vf, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = Nu(e.fill || null), e.dir = uu(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: Wt,
		series: Ft
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function ee(e) {
		let t = e.distr == 3 ? (t) => Tu(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => Ou(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
		return (n) => {
			let r = t(n), { _min: i, _max: a } = e, o = a - i;
			return (r - i) / o;
		};
	}
	function T(t) {
		let n = b[t];
		if (n == null) {
			let r = (e.scales || Yu)[t] || Yu;
			if (r.from != null) {
				T(r.from);
				let e = sd({}, b[r.from], r, { key: t });
				e.valToPct = ee(e), b[t] = e;
			} else {
				n = b[t] = sd({}, t == S ? Yf : Xf, r), n.key = t;
				let e = n.time, a = n.range, o = Qu(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? ou : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? ou : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && nd(a))) {
					let e = a;
					a = (t, n, r) => n == null ? Zu : lu(n, r, e);
				}
				n.range = Nu(a || (e ? zp : t == S ? n.distr == 3 ? Hp : n.distr == 4 ? Wp : Rp : n.distr == 3 ? Vp : n.distr == 4 ? Up : Bp)), n.auto = Nu(!o && n.auto), n.clamp = Nu(n.clamp || Jf), n._min = n._max = null, n.valToPct = ee(n);
			}
		}
	}
	T("x"), T("y"), i == 1 && v.forEach((e) => {
		T(e.scale);
	}), y.forEach((e) => {
		T(e.scale);
	});
	for (let t in e.scales) T(t);
	let E = b[S], te = E.distr, ne, re;
	E.ori == 0 ? (Fl(l, Wc), ne = a, re = o) : (Fl(l, Gc), ne = o, re = a);
	let ie = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (ie[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let ae = e.tzDate || ((e) => new Date(yu(e / _))), oe = e.fmtDate || Td, se = _ == 1 ? Jd(ae) : Zd(ae), ce = $d(ae, Qd(_ == 1 ? qd : Xd, oe)), le = af(ae, nf(rf, oe)), ue = [], de = r.legend = sd({}, cf, e.legend), D = r.cursor = sd({}, _f, { drag: { y: i == 2 } }, e.cursor), fe = de.show, O = D.show, pe = de.markers;
	de.idxs = ue, pe.width = Nu(pe.width), pe.dash = Nu(pe.dash), pe.stroke = Nu(pe.stroke), pe.fill = Nu(pe.fill);
	let me, he, ge, _e = [], k = [], ve, A = !1, ye = {};
	if (de.live) {
		let e = v[1] ? v[1].values : null;
		A = e != null, ve = A ? e(r, 1, 0) : { _: 0 };
		for (let e in ve) ye[e] = Dl;
	}
	if (fe) {
		if (me = Rl("table", nl, l), ge = Rl("tbody", null, me), de.mount(r, me), A) {
			he = Rl("thead", null, me, ge);
			let e = Rl("tr", null, he);
			for (var be in Rl("th", null, e), ve) Rl("th", sl, e).textContent = be;
		} else Fl(me, il), de.live && Fl(me, rl);
	}
	let j = { show: !0 }, xe = { show: !1 };
	function Se(e, t) {
		if (t == 0 && (A || !de.live || i == 2)) return Zu;
		let n = [], a = Rl("tr", al, ge, ge.childNodes[t]);
		Fl(a, e.class), e.show || Fl(a, Zc);
		let o = Rl("th", null, a);
		if (pe.show) {
			let e = zl(ol, o);
			if (t > 0) {
				let n = pe.width(r, t);
				n && (e.style.border = n + "px " + pe.dash(r, t) + " " + pe.stroke(r, t)), e.style.background = pe.fill(r, t);
			}
		}
		let s = zl(sl, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (pe.show || (s.style.color = e.width > 0 ? pe.stroke(r, t) : pe.fill(r, t)), we("click", o, (t) => {
			if (D._lock) return;
			Xe(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != de.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && _n(r, e ? r == n ? j : xe : j, !0, tr.setSeries);
				});
			} else _n(n, { show: !e.show }, !0, tr.setSeries);
		}, !1), $e && we(bl, o, (t) => {
			D._lock || (Xe(t), _n(v.indexOf(e), wn, !0, tr.setSeries));
		}, !1)), ve) {
			let e = Rl("td", cl, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let Ce = new Map();
	function we(e, t, n, i = !0) {
		let a = Ce.get(t) || {}, o = D.bind[e](r, t, n, i);
		o && (Jl(e, t, a[e] = o), Ce.set(t, a));
	}
	function Te(e, t, n) {
		let r = Ce.get(t) || {};
		for (let n in r) (e == null || n == e) && (Yl(n, t, r[n]), delete r[n]);
		e ?? Ce.delete(t);
	}
	let Ee = 0, De = 0, M = 0, N = 0, Oe = 0, ke = 0, Ae = Oe, je = ke, Me = M, Ne = N, Pe = 0, Fe = 0, Ie = 0, Le = 0;
	r.bbox = {};
	let Re = !1, ze = !1, Be = !1, Ve = !1, He = !1, Ue = !1;
	function We(e, t, n) {
		(n || e != r.width || t != r.height) && Ge(e, t), Gt(!1), Be = !0, ze = !0, Xt();
	}
	function Ge(e, t) {
		r.width = Ee = M = e, r.height = De = N = t, Oe = ke = 0, Je(), Ye();
		let n = r.bbox;
		Pe = n.left = Hu(Oe * Ml, .5), Fe = n.top = Hu(ke * Ml, .5), Ie = n.width = Hu(M * Ml, .5), Le = n.height = Hu(N * Ml, .5);
	}
	function Ke() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = Ht(t), i = Ut(t);
			e = t == 3 || n && i, e || (Ge(r.width, r.height), ze = !0);
		}
	}
	function qe({ width: e, height: t }) {
		We(e, t);
	}
	r.setSize = qe;
	function Je() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (M -= c, a == 3 ? (Oe += c, r = !0) : n = !0) : (N -= c, a == 0 ? (ke += c, e = !0) : t = !0));
			}
		}), P[0] = e, P[1] = n, P[2] = t, P[3] = r, M -= dt[1] + dt[3], Oe += dt[3], N -= dt[2] + dt[0], ke += dt[0];
	}
	function Ye() {
		let e = Oe + M, t = ke + N, n = Oe, r = ke;
		function i(i, a) {
			switch (i) {
				case 1: return e += a, e - a;
				case 2: return t += a, t - a;
				case 3: return n -= a, n + a;
				case 0: return r -= a, r + a;
			}
		}
		y.forEach((e, t) => {
			if (e.show && e._show) {
				let t = e.side;
				e._pos = i(t, e._size), e.label != null && (e._lpos = i(t, e.labelSize));
			}
		});
	}
	if (D.dataIdx == null) {
		let e = D.hover, n = e.skip = new Set(e.skip ?? []);
		n.add(void 0);
		let r = e.prox = Nu(e.prox), i = e.bias ??= 0;
		D.dataIdx = (e, a, o, s) => {
			if (a == 0) return o;
			let c = o, l = r(e, a, o, s) ?? ku, u = l >= 0 && l < ku, d = E.ori == 0 ? M : N, f = D.left, p = t[0], m = t[a];
			if (n.has(m[o])) {
				c = null;
				let e = null, t = null, r;
				if (i == 0 || i == -1) for (r = o; e == null && r-- > 0;) n.has(m[r]) || (e = r);
				if (i == 0 || i == 1) for (r = o; t == null && r++ < m.length;) n.has(m[r]) || (t = r);
				if (e != null || t != null) {
					if (u) {
						let n = e == null ? -Infinity : ne(p[e], E, d, 0), r = t == null ? Infinity : ne(p[t], E, d, 0), i = f - n, a = r - f;
						i <= a ? i <= l && (c = e) : a <= l && (c = t);
					} else c = t == null ? e : e == null ? t : o - e <= t - o ? e : t;
				}
			} else u && _u(f - ne(p[o], E, d, 0)) > l && (c = null);
			return c;
		};
	}
	let Xe = (e) => {
		D.event = e;
	};
	D.idxs = ue, D._lock = !1;
	let Ze = D.points;
	Ze.show = Nu(Ze.show), Ze.size = Nu(Ze.size), Ze.stroke = Nu(Ze.stroke), Ze.width = Nu(Ze.width), Ze.fill = Nu(Ze.fill);
	let Qe = r.focus = sd({}, e.focus || { alpha: .3 }, D.focus), $e = Qe.prox >= 0, et = $e && Ze.one, tt = [], nt = [], rt = [];
	function it(e, t) {
		let n = Ze.show(r, t);
		if (n instanceof HTMLElement) return Fl(n, tl), Fl(n, e.class), Vl(n, -10, -10, M, N), m.insertBefore(n, tt[t]), n;
	}
	function at(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? td(n) ? af(ae, nf(n, oe)) : n || le : n || Bf, e.label = e.label || (t ? Df : Ef);
		}
		if (et || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || Np || Lu, e.fillTo = Nu(e.fillTo || rp), e.pxAlign = +uu(e.pxAlign, h), e.pxRound = cp(e.pxAlign), e.stroke = Nu(e.stroke || null), e.fill = Nu(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = Hf(Su(1, e.width), 1), n = e.points = sd({}, {
				size: t,
				width: Su(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: Pp,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = Nu(n.show), n.filter = Nu(n.filter), n.fill = Nu(n.fill), n.stroke = Nu(n.stroke), n.paths = Nu(n.paths), n.pxAlign = e.pxAlign;
		}
		if (fe) {
			let n = Se(e, t);
			_e.splice(t, 0, n[0]), k.splice(t, 0, n[1]), de.values.push(null);
		}
		if (O) {
			ue.splice(t, 0, null);
			let n = null;
			et ? t == 0 && (n = it(e, t)) : t > 0 && (n = it(e, t)), tt.splice(t, 0, n), nt.splice(t, 0, 0), rt.splice(t, 0, 0);
		}
		$n("addSeries", t);
	}
	function ot(e, t) {
		t ??= v.length, e = i == 1 ? Lp(e, t, Of, qf) : Lp(e, t, {}, Kf), v.splice(t, 0, e), at(v[t], t);
	}
	r.addSeries = ot;
	function st(e) {
		if (v.splice(e, 1), fe) {
			de.values.splice(e, 1), k.splice(e, 1);
			let t = _e.splice(e, 1)[0];
			Te(null, t.firstChild), t.remove();
		}
		O && (ue.splice(e, 1), tt.splice(e, 1)[0].remove(), nt.splice(e, 1), rt.splice(e, 1)), $n("delSeries", e);
	}
	r.delSeries = st;
	let P = [
		!1,
		!1,
		!1,
		!1
	];
	function ct(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = Nu(e.size), e.space = Nu(e.space), e.rotate = Nu(e.rotate), Qu(e.incrs) && e.incrs.forEach((e) => {
				!Ku.has(e) && Ku.set(e, qu(e));
			}), e.incrs = Nu(e.incrs || (i.distr == 2 ? Md : a ? _ == 1 ? Kd : Yd : Nd)), e.splits = Nu(e.splits || (a && i.distr == 1 ? se : i.distr == 3 ? jf : i.distr == 4 ? Mf : Af)), e.stroke = Nu(e.stroke), e.grid.stroke = Nu(e.grid.stroke), e.ticks.stroke = Nu(e.ticks.stroke), e.border.stroke = Nu(e.border.stroke);
			let o = e.values;
			e.values = Qu(o) && !Qu(o[0]) ? Nu(o) : a ? Qu(o) ? $d(ae, Qd(o, oe)) : td(o) ? ef(ae, o) : o || ce : o || kf, e.filter = Nu(e.filter || (i.distr >= 3 && i.log == 10 ? Rf : i.distr == 3 && i.log == 2 ? zf : Iu)), e.font = Kp(e.font), e.labelFont = Kp(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && (P[t] = !0, e._el = zl(Xc, f));
		}
	}
	function lt(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? yu(Tf.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? yu(Vf.size / 2) : 0), l;
	}
	let ut = r.padding = (e.padding || [
		lt,
		lt,
		lt,
		lt
	]).map((e) => Nu(uu(e, lt))), dt = r._padding = ut.map((e, t) => e(r, t, P, 0)), ft, pt = null, mt = null, F = i == 1 ? v[0].idxs : null, ht = null, gt = !1;
	function _t(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			ft = 0;
			for (let e = 1; e < v.length; e++) ft += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), ht = t[0], ft = ht.length;
			let e = t;
			if (te == 2) {
				e = t.slice();
				let n = e[0] = Array(ft);
				for (let e = 0; e < ft; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (Gt(!0), $n("setData"), te == 2 && (Be = !0), n !== !1) {
			let e = E;
			e.auto(r, gt) ? vt() : gn(S, e.min, e.max), Ve ||= D.left >= 0, Ue = !0, Xt();
		}
	}
	r.setData = _t;
	function vt() {
		gt = !0;
		let e, n;
		i == 1 && (ft > 0 ? (pt = F[0] = 0, mt = F[1] = ft - 1, e = t[0][pt], n = t[0][mt], te == 2 ? (e = pt, n = mt) : e == n && (te == 3 ? [e, n] = ru(e, e, E.log, !1) : te == 4 ? [e, n] = iu(e, e, E.log, !1) : E.time ? n = e + yu(86400 / _) : [e, n] = lu(e, n, au, !0))) : (pt = F[0] = e = null, mt = F[1] = n = null)), gn(S, e, n);
	}
	let yt, bt, xt, St, Ct, wt, Tt, Et, Dt, Ot;
	function kt(e, t, n, r, i, a) {
		e ??= gl, n ??= Xu, r ??= "butt", i ??= gl, a ??= "round", e != yt && (d.strokeStyle = yt = e), i != bt && (d.fillStyle = bt = i), t != xt && (d.lineWidth = xt = t), a != Ct && (d.lineJoin = Ct = a), r != wt && (d.lineCap = wt = r), n != St && d.setLineDash(St = n);
	}
	function At(e, t, n, r) {
		t != bt && (d.fillStyle = bt = t), e != Tt && (d.font = Tt = e), n != Et && (d.textAlign = Et = n), r != Dt && (d.textBaseline = Dt = r);
	}
	function jt(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, gt) && (t == null || t.min == null)) {
			let t = uu(pt, 0), r = uu(mt, i.length - 1), o = n.min == null ? nu(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = xu(e.min, n.min = o[0]), e.max = Su(e.max, n.max = o[1]);
		}
	}
	let Mt = {
		min: null,
		max: null
	};
	function Nt() {
		for (let e in b) {
			let t = b[e];
			ie[e] == null && (t.min == null || ie[S] != null && t.auto(r, gt)) && (ie[e] = Mt);
		}
		for (let e in b) {
			let t = b[e];
			ie[e] == null && t.from != null && ie[t.from] != null && (ie[e] = Mt);
		}
		ie[S] != null && Gt(!0);
		let e = {};
		for (let t in ie) {
			let n = ie[t];
			if (n != null) {
				let a = e[t] = od(b[t], rd);
				if (n.min != null) sd(a, n);
				else if (t != S || i == 2) {
					if (ft == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = ku, a.max = -Infinity;
				}
			}
		}
		if (ft > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = ie[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], pt = Xl(s.min, t[0]), mt = Xl(s.max, t[0]), mt - pt > 1 && (t[0][pt] < s.min && pt++, t[0][mt] > s.max && mt--), n.min = ht[pt], n.max = ht[mt];
					} else n.show && n.auto && jt(s, o, n, t[a], n.sorted);
					n.idxs[0] = pt, n.idxs[1] = mt;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && jt(u, ie[o], r, c, r.sorted), d != null && jt(d, ie[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = ie[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == ku ? null : n.min, n.max == -Infinity ? null : n.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		for (let t in e) {
			let n = e[t];
			if (n.from != null) {
				let i = e[n.from];
				if (i.min == null) n.min = n.max = null;
				else {
					let e = n.range(r, i.min, i.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		let n = {}, a = !1;
		for (let t in e) {
			let r = e[t], i = b[t];
			if (i.min != r.min || i.max != r.max) {
				i.min = r.min, i.max = r.max;
				let e = i.distr;
				i._min = e == 3 ? Tu(i.min) : e == 4 ? Ou(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? Tu(i.max) : e == 4 ? Ou(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) Be = !0, $n("setScale", e);
			O && D.left >= 0 && (Ve = Ue = !0);
		}
		for (let e in ie) ie[e] = null;
	}
	function Pt(e) {
		let t = ju(pt - 1, 0, ft - 1), n = ju(mt + 1, 0, ft - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < ft - 1;) n++;
		return [t, n];
	}
	function Ft() {
		if (ft > 0) {
			let e = v.some((e) => e._focus) && Ot != Qe.alpha;
			e && (d.globalAlpha = Ot = Qe.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (I(n, !1), I(n, !0), e._paths == null)) {
					let a = Ot;
					Ot != e.alpha && (d.globalAlpha = Ot = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : Pt(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), Ot != a && (d.globalAlpha = Ot = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = Ot;
					Ot != e.alpha && (d.globalAlpha = Ot = e.alpha), e._paths != null && It(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, pt, mt, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, pt, mt, a), It(t, !0));
					}
					Ot != n && (d.globalAlpha = Ot = n), $n("drawSeries", t);
				}
			}), e && (d.globalAlpha = Ot = 1);
		}
	}
	function I(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function It(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = Gu(l * Ml, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = Pe - l / 2, t = Fe - l / 2, n = Ie + l, r = Le + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? Lt(s, l, n.dash, n.cap, c, r, i, o, a) : L(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function L(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || Yu).band;
				Qu(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && du(g, pt, mt) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, Lt(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || Lt(n, i, a, o, s, c, l, u, d, f);
	}
	function Lt(e, t, n, r, i, a, o, s, c, l, u, f) {
		kt(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), zt(i, o), Rt(e, a, t)) : s & ep ? (zt(i, o), d.clip(f), Rt(e, a, t)) : s & $f && (d.save(), d.clip(f), u && d.clip(u), zt(i, o), d.restore(), Rt(e, a, t)) : (zt(i, o), Rt(e, a, t)), (c || l || f) && d.restore();
	}
	function Rt(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = yt = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function zt(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = bt = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function Bt(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = Gp(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function Vt(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), kt(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function Ht(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, Gt(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, Gt(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = Bt(i, c, l, s == 0 ? M : N);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => ht[e]) : p, h = a.distr == 2 ? ht[p[1]] - ht[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = bu(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Ut(e) {
		let t = !0;
		return ut.forEach((n, i) => {
			let a = n(r, i, P, e);
			a != dt[i] && (t = !1), dt[i] = a;
		}), t;
	}
	function Wt() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = yu((t._lpos + s) * Ml);
				At(t.labelFont[0], c, "center", n == 2 ? dl : fl), d.save(), i == 1 ? (a = o = 0, d.translate(p, yu(Fe + Le / 2)), d.rotate((n == 3 ? -gu : gu) / 2)) : (a = yu(Pe + Ie / 2), o = p);
				let m = Mu(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? Ie : Le, h = i == 0 ? Pe : Fe, _ = t._splits, v = p.distr == 2 ? _.map((e) => ht[e]) : _, x = p.distr == 2 ? ht[_[1]] - ht[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, ee = yu(w * Ml), T = yu((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * Ml), E = t._rotate * -gu / 180, te = g(t._pos * Ml), ne = te + (ee + T) * l;
			o = i == 0 ? ne : 0, a = i == 1 ? ne : 0;
			let re = t.font[0];
			At(re, c, t.align == 1 ? pl : t.align == 2 ? ml : E > 0 ? pl : E < 0 ? ml : i == 0 ? "center" : n == 3 ? ml : pl, E || i == 1 ? "middle" : n == 2 ? dl : fl);
			let ie = t.font[1] * t.lineGap, ae = _.map((e) => g(s(e, p, m, h))), oe = t._values;
			for (let e = 0; e < oe.length; e++) {
				let t = oe[e];
				if (t != null) {
					i == 0 ? a = ae[e] : o = ae[e], t = "" + t;
					let n = t.indexOf("\n") == -1 ? [t] : t.split(/\n/gm);
					for (let e = 0; e < n.length; e++) {
						let t = n[e];
						E ? (d.save(), d.translate(a, o + e * ie), d.rotate(E), d.fillText(t, 0, 0), d.restore()) : d.fillText(t, a, o + e * ie);
					}
				}
			}
			S.show && Vt(ae, S.filter(r, v, e, f, x), i, n, te, ee, Gu(S.width * Ml, 3), S.stroke(r, e), S.dash, S.cap);
			let se = t.grid;
			se.show && Vt(ae, se.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? Fe : Pe, i == 0 ? Le : Ie, Gu(se.width * Ml, 3), se.stroke(r, e), se.dash, se.cap), C.show && Vt([te], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? Fe : Pe, i == 1 ? Le : Ie, Gu(C.width * Ml, 3), C.stroke(r, e), C.dash, C.cap);
		}
		$n("drawAxes");
	}
	function Gt(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Kt = !1, qt = !1, Jt = [];
	function Yt() {
		qt = !1;
		for (let e = 0; e < Jt.length; e++) $n(...Jt[e]);
		Jt.length = 0;
	}
	function Xt() {
		Kt ||= (pd(Qt), !0);
	}
	function Zt(e, t = !1) {
		Kt = !0, qt = t, e(r), Qt(), t && Jt.length > 0 && queueMicrotask(Yt);
	}
	r.batch = Zt;
	function Qt() {
		if (Re &&= (Nt(), !1), Be &&= (Ke(), !1), ze) {
			if (Ll(p, pl, Oe), Ll(p, dl, ke), Ll(p, ll, M), Ll(p, ul, N), Ll(m, pl, Oe), Ll(m, dl, ke), Ll(m, ll, M), Ll(m, ul, N), Ll(f, ll, Ee), Ll(f, ul, De), u.width = yu(Ee * Ml), u.height = yu(De * Ml), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						Ll(e, a ? "left" : "top", r - t), Ll(e, a ? "width" : "height", n), Ll(e, a ? "top" : "left", a ? ke : Oe), Ll(e, a ? "height" : "width", a ? N : M), Il(e, Zc);
					} else Fl(e, Zc);
				}
			}), yt = bt = xt = Ct = wt = Tt = Et = Dt = St = null, Ot = 1, Ln(!0), Oe != Ae || ke != je || M != Me || N != Ne) {
				Gt(!1);
				let e = M / Me, t = N / Ne;
				if (O && !Ve && D.left >= 0) {
					D.left *= e, D.top *= t, z && Vl(z, yu(D.left), 0, M, N), B && Vl(B, 0, yu(D.top), M, N);
					for (let n = 0; n < tt.length; n++) {
						let r = tt[n];
						r != null && (nt[n] *= e, rt[n] *= t, Vl(r, bu(nt[n]), bu(rt[n]), M, N));
					}
				}
				if (H.show && !He && H.left >= 0 && H.width > 0) {
					H.left *= e, H.width *= e, H.top *= t, H.height *= t;
					for (let e in Bn) Ll(pn, e, H[e]);
				}
				Ae = Oe, je = ke, Me = M, Ne = N;
			}
			$n("setSize"), ze = !1;
		}
		Ee > 0 && De > 0 && (d.clearRect(0, 0, u.width, u.height), $n("drawClear"), w.forEach((e) => e()), $n("draw")), H.show && He && (mn(H), He = !1), O && Ve && (Fn(null, !0, !1), Ve = !1), de.show && de.live && Ue && (Nn(), Ue = !1), c || (c = !0, r.status = 1, $n("ready")), gt = !1, Kt = !1;
	}
	r.redraw = (e, t) => {
		Be = t || !1, e === !1 ? Xt() : gn(S, E.min, E.max);
	};
	function $t(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (ft == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (ft > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && ft > 0 && (n.min = Xl(n.min, t[0]), n.max = Xl(n.max, t[0]), n.min == n.max && n.max++), ie[e] = n, Re = !0, Xt();
		}
	}
	r.setScale = $t;
	let en, R, z, B, V, tn, nn, rn, an, on, sn, cn, ln = !1, un = D.drag, dn = un.x, fn = un.y;
	O && (D.x && (en = zl($c, m)), D.y && (R = zl(el, m)), E.ori == 0 ? (z = en, B = R) : (z = R, B = en), sn = D.left, cn = D.top);
	let H = r.select = sd({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), pn = H.show ? zl(Qc, H.over ? m : p) : null;
	function mn(e, t) {
		if (H.show) {
			for (let t in e) H[t] = e[t], t in Bn && Ll(pn, t, e[t]);
			t !== !1 && $n("setSelect");
		}
	}
	r.setSelect = mn;
	function hn(e) {
		if (v[e].show) fe && Il(_e[e], Zc);
		else if (fe && Fl(_e[e], Zc), O) {
			let t = et ? tt[0] : tt[e];
			t != null && Vl(t, -10, -10, M, N);
		}
	}
	function gn(e, t, n) {
		$t(e, {
			min: t,
			max: n
		});
	}
	function _n(e, t, n, a) {
		t.focus != null && Tn(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, hn(r), i == 2 ? (gn(n.facets[0].scale, null, null), gn(n.facets[1].scale, null, null)) : gn(n.scale, null, null), Xt());
		}), n !== !1 && $n("setSeries", e, t), a && W("setSeries", r, e, t);
	}
	r.setSeries = _n;
	function U(e, t) {
		sd(x[e], t);
	}
	function vn(e, t) {
		e.fill = Nu(e.fill || null), e.dir = uu(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}
	function yn(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	}
	r.addBand = vn, r.setBand = U, r.delBand = yn;
	function bn(e, t) {
		v[e].alpha = t, O && tt[e] != null && (tt[e].style.opacity = t), fe && _e[e] && (_e[e].style.opacity = t);
	}
	let xn, Sn, Cn, wn = { focus: !0 };
	function Tn(e) {
		if (e != Cn) {
			let t = e == null, n = Qe.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && bn(a, i ? 1 : Qe.alpha);
				}
			}), Cn = e, n && Xt();
		}
	}
	fe && $e && we(xl, me, (e) => {
		D._lock || (Xe(e), Cn != null && _n(null, wn, !0, tr.setSeries));
	});
	function En(e, t, n) {
		let r = b[t];
		n && (e = e / Ml - (r.ori == 1 ? ke : Oe));
		let i = M;
		r.ori == 1 && (i = N, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? Cu(10, c) : l == 4 ? Du(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	function Dn(e, n) {
		return Xl(En(e, S, n), t[0], pt, mt);
	}
	r.valToIdx = (e) => Xl(e, t[0]), r.posToIdx = Dn, r.posToVal = En, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? Ie : M, n ? Pe : 0) : o(e, b[t], n ? Le : N, n ? Fe : 0), r.setCursor = (e, t, n) => {
		sn = e.left, cn = e.top, Fn(null, t, n);
	};
	function On(e, t) {
		Ll(pn, pl, H.left = e), Ll(pn, ll, H.width = t);
	}
	function kn(e, t) {
		Ll(pn, dl, H.top = e), Ll(pn, ul, H.height = t);
	}
	let An = E.ori == 0 ? On : kn, jn = E.ori == 1 ? On : kn;
	function Mn() {
		if (fe && de.live) for (let e = +(i == 2); e < v.length; e++) {
			if (e == 0 && A) continue;
			let t = de.values[e], n = 0;
			for (let r in t) k[e][n++].firstChild.nodeValue = t[r];
		}
	}
	function Nn(e, t) {
		if (e != null && (e.idxs ? e.idxs.forEach((e, t) => {
			ue[t] = e;
		}) : ed(e.idx) || ue.fill(e.idx), de.idx = ue[0]), fe && de.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !A) && Pn(e, ue[e]);
			Mn();
		}
		Ue = !1, t !== !1 && $n("setLegend");
	}
	r.setLegend = Nn;
	function Pn(e, n) {
		let i = v[e], a = e == 0 && te == 2 ? ht : t[e], o;
		A ? o = i.values(r, e, n) ?? ye : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? ye : { _: o }), de.values[e] = o;
	}
	function Fn(e, n, a) {
		an = sn, on = cn, [sn, cn] = D.move(r, sn, cn), D.left = sn, D.top = cn, O && (z && Vl(z, yu(sn), 0, M, N), B && Vl(B, 0, yu(cn), M, N));
		let o, s = pt > mt;
		xn = ku, Sn = null;
		let c = E.ori == 0 ? M : N, l = E.ori == 1 ? M : N;
		if (sn < 0 || ft == 0 || s) {
			o = D.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = tt[e];
				t != null && Vl(t, -10, -10, M, N);
			}
			$e && _n(null, wn, !0, e == null && tr.setSeries), de.live && (ue.fill(o), Ue = !0);
		} else {
			let e, n, a;
			i == 1 && (e = E.ori == 0 ? sn : cn, n = En(e, S), o = D.idx = Xl(n, t[0], pt, mt), a = ne(t[0][o], E, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = ue[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = D.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (Ue = Ue || S != y || x != _, ue[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : ne(i == 1 ? t[0][x] : t[e][0][x], E, c, 0), _ = S == null ? -10 : re(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if ($e && S != null) {
						let t = E.ori == 1 ? sn : cn, n = _u(Qe.dist(r, e, x, _, t));
						if (n < xn) {
							let r = Qe.bias;
							if (r != 0) {
								let i = En(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (xn = n, Sn = e);
							} else xn = n, Sn = e;
						}
					}
					if (Ue || et) {
						let t, i;
						E.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = Ze.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = Ze.size(r, e);
						if (v = Ze.fill(r, e), g = Ze.stroke(r, e), et) e == Sn && xn <= Qe.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = tt[e];
							t != null && (nt[e] = c, rt[e] = l, Gl(t, a, o, y), Ul(t, v, g), Vl(t, bu(c), bu(l), M, N));
						}
					}
				}
			}
			if (et) {
				let e = Qe.prox;
				if (Ue || (Cn == null ? xn <= e : xn > e || Sn != Cn)) {
					let e = tt[0];
					e != null && (nt[0] = s, rt[0] = u, Gl(e, d, f, p), Ul(e, m, h), Vl(e, bu(s), bu(u), M, N));
				}
			}
		}
		if (H.show && ln) {
			if (e != null) {
				let [t, n] = tr.scales, [r, i] = tr.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (dn = s._x, fn = s._y, dn || fn) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && dn ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = ne(m(h, a), _, c, 0), y = ne(m(h + g, a), _, c, 0), An(xu(v, y), _u(y - v))) : An(0, c), S && fn ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = re(m(h, o), _, l, 0), y = re(m(h + g, o), _, l, 0), jn(xu(v, y), _u(y - v))) : jn(0, l);
				} else Vn();
			} else {
				let e = _u(an - V), t = _u(on - tn);
				if (E.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				dn = un.x && e >= un.dist, fn = un.y && t >= un.dist;
				let n = un.uni;
				n == null ? un.x && un.y && (dn || fn) && (dn = fn = !0) : dn && fn && (dn = e >= n, fn = t >= n, !dn && !fn && (t > e ? fn = !0 : dn = !0));
				let r, i;
				dn && (E.ori == 0 ? (r = nn, i = sn) : (r = rn, i = cn), An(xu(r, i), _u(i - r)), fn || jn(0, l)), fn && (E.ori == 1 ? (r = nn, i = sn) : (r = rn, i = cn), jn(xu(r, i), _u(i - r)), dn || An(0, c)), !dn && !fn && (An(0, 0), jn(0, 0));
			}
		}
		if (un._x = dn, un._y = fn, e == null) {
			if (a) {
				if (nr != null) {
					let [e, t] = tr.scales;
					tr.values[0] = e == null ? null : En(E.ori == 0 ? sn : cn, e), tr.values[1] = t == null ? null : En(E.ori == 1 ? sn : cn, t);
				}
				W(_l, r, sn, cn, M, N, o);
			}
			if ($e) {
				let e = a && tr.setSeries, t = Qe.prox;
				Cn == null ? xn <= t && _n(Sn, wn, !0, e) : xn > t ? _n(null, wn, !0, e) : Sn != Cn && _n(Sn, wn, !0, e);
			}
		}
		Ue && (de.idx = o, Nn()), n !== !1 && $n("setCursor");
	}
	let In = null;
	Object.defineProperty(r, "rect", { get() {
		return In ?? Ln(!1), In;
	} });
	function Ln(e = !1) {
		e ? In = null : (In = m.getBoundingClientRect(), $n("syncRect", In));
	}
	function Rn(e, t, n, r, i, a, o) {
		D._lock || ln && e != null && e.movementX == 0 && e.movementY == 0 || (zn(e, t, n, r, i, a, o, !1, e != null), e == null ? Fn(t, !0, !1) : Fn(null, !0, !0));
	}
	function zn(e, t, n, i, a, o, c, l, u) {
		if (In ?? Ln(!1), Xe(e), e != null) n = e.clientX - In.left, i = e.clientY - In.top;
		else {
			if (n < 0 || i < 0) {
				sn = -10, cn = -10;
				return;
			}
			let [e, r] = tr.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = tr.match, h = t.axes[0].side % 2 == 1, g = E.ori == 0 ? M : N, _ = E.ori == 1 ? M : N, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, E.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == _l) && ((n <= 1 || n >= M - 1) && (n = Hu(n, M)), (i <= 1 || i >= N - 1) && (i = Hu(i, N))), l ? (V = n, tn = i, [nn, rn] = D.move(r, n, i)) : (sn = n, cn = i);
	}
	let Bn = {
		width: 0,
		height: 0,
		left: 0,
		top: 0
	};
	function Vn() {
		mn(Bn, !1);
	}
	let Hn, Un, Wn, Gn;
	function Kn(e, t, n, i, a, o, s) {
		ln = !0, dn = fn = un._x = un._y = !1, zn(e, t, n, i, a, o, s, !0, !1), e != null && (we(yl, kl, qn, !1), W(vl, r, nn, rn, M, N, null));
		let { left: c, top: l, width: u, height: d } = H;
		Hn = c, Un = l, Wn = u, Gn = d;
	}
	function qn(e, t, n, i, a, o, s) {
		ln = un._x = un._y = !1, zn(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = H, f = u > 0 || d > 0, p = Hn != c || Un != l || Wn != u || Gn != d;
		if (f && p && mn(H), un.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (E.ori == 1 && (e = l, t = d, n = c, r = u), dn && gn(S, En(e, S), En(e + t, S)), fn) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != ku && gn(e, En(n + r, e), En(n, e));
			}
			Vn();
		} else D.lock && (D._lock = !D._lock, Fn(t, !0, e != null));
		e != null && (Te(yl, kl), W(yl, r, sn, cn, M, N, null));
	}
	function Jn(e, t, n, r, i, a, o) {
		if (D._lock) return;
		Xe(e);
		let s = ln;
		if (ln) {
			let e = !0, t = !0, n, r;
			E.ori == 0 ? (n = dn, r = fn) : (n = fn, r = dn), n && r && (e = sn <= 10 || sn >= M - 10, t = cn <= 10 || cn >= N - 10), n && e && (sn = sn < nn ? 0 : M), r && t && (cn = cn < rn ? 0 : N), Fn(null, !0, !0), ln = !1;
		}
		sn = -10, cn = -10, ue.fill(null), Fn(null, !0, !0), s && (ln = s);
	}
	function Yn(e, t, n, i, a, o, s) {
		D._lock || (Xe(e), vt(), Vn(), e != null && W(Sl, r, sn, cn, M, N, null));
	}
	function Xn() {
		y.forEach(qp), We(r.width, r.height, !0);
	}
	Jl(El, Al, Xn);
	let Zn = {};
	Zn.mousedown = Kn, Zn.mousemove = Rn, Zn.mouseup = qn, Zn.dblclick = Yn, Zn.setSeries = (e, t, n, i) => {
		let a = tr.match[2];
		n = a(r, t, n), n != -1 && _n(n, i, !0, !1);
	}, O && (we(vl, m, Kn), we(_l, m, Rn), we(bl, m, (e) => {
		Xe(e), Ln(!1);
	}), we(xl, m, Jn), we(Sl, m, Yn), jp.add(r), r.syncRect = Ln);
	let Qn = r.hooks = e.hooks || {};
	function $n(e, t, n) {
		qt ? Jt.push([
			e,
			t,
			n
		]) : e in Qn && Qn[e].forEach((e) => {
			e.call(null, r, t, n);
		});
	}
	(e.plugins || []).forEach((e) => {
		for (let t in e.hooks) Qn[t] = (Qn[t] || []).concat(e.hooks[t]);
	});
	let er = (e, t, n) => n, tr = sd({
		key: null,
		setSeries: !1,
		filters: {
			pub: Ru,
			sub: Ru
		},
		scales: [S, v[1] ? v[1].scale : null],
		match: [
			zu,
			zu,
			er
		],
		values: [null, null]
	}, D.sync);
	tr.match.length == 2 && tr.match.push(er), D.sync = tr;
	let nr = tr.key, rr = Qf(nr);
	function W(e, t, n, r, i, a, o) {
		tr.filters.pub(e, t, n, r, i, a, o) && rr.pub(e, t, n, r, i, a, o);
	}
	rr.sub(r);
	function ir(e, t, n, r, i, a, o) {
		tr.filters.sub(e, t, n, r, i, a, o) && Zn[e](null, t, n, r, i, a, o);
	}
	r.pub = ir;
	function ar() {
		rr.unsub(r), jp.delete(r), Ce.clear(), Yl(El, Al, Xn), l.remove(), me?.remove(), $n("destroy");
	}
	r.destroy = ar;
	function or() {
		$n("init", e, t), _t(t || e.data, !1), ie[S] ? $t(S, ie[S]) : vt(), He = H.show && (H.width > 0 || H.height > 0), Ve = Ue = !0, We(e.width, e.height);
	}
	return v.forEach(at), y.forEach(ct), n ? n instanceof HTMLElement ? (n.appendChild(l), or()) : n(r, or) : or(), r;
}
Jp.assign = sd, Jp.fmtNum = mu, Jp.rangeNum = lu, Jp.rangeLog = ru, Jp.rangeAsinh = iu, Jp.orient = tp, Jp.pxRatio = Ml, Jp.join = fd, Jp.fmtDate = Td, Jp.tzDate = Dd, Jp.sync = Qf;
{
	Jp.addGap = op, Jp.clipGaps = ap;
	let e = Jp.paths = { points: bp };
	e.linear = wp, e.stepped = Tp, e.bars = Dp, e.spline = kp;
}
// src/roles.ts
var Yp = /^(f16|bf16|f32|f64)\[/;
function Xp(e) {
	let t = e.type ?? "", n = e.name.toLowerCase();
	if (t === "binary") return "bytes";
	if (rc(t) || /^(date|timestamp|duration)/.test(t)) return "number";
	if (t === "utf8" || t === "categorical") return "text";
	let r = /\[([\d,?]*)\]$/.exec(t)?.[1].split(",") ?? [];
	if (Yp.test(t)) {
		if (r.length === 2 && /^[34]$/.test(r[0]) && r[1] === "4" || r.length === 1 && r[0] === "3" && /position|translation|xyz|location/.test(n)) return "pose";
		let e = Number(r[1]);
		if (r.length === 2 && e >= 7 && e <= 10 && /box|cuboid|object|annotation/.test(n)) return "boxes";
		if (r.length === 2 && e >= 3 && e <= 10 && /point|lidar|sweep|cloud|radar|xyz/.test(n)) return "points";
	}
	return /\[[\d,?]+\]$/.test(t) ? "tensor" : "other";
}
// src/along.ts
var Zp = 6;
function Qp(e, t) {
	if (e == null) return null;
	let n = t === "bf16" ? fc(Number(e)) : Number(e);
	return Number.isFinite(n) ? n : null;
}
function $p(e, t) {
	let n = e.rows.map((e) => e ?? 0), r = {
		rows: n,
		plots: [],
		paths: []
	}, i = new Map();
	for (let a of t) {
		if (!e.types.has(a.name)) continue;
		if (Xp(a) === "pose") {
			let t = n.flatMap((t, n) => {
				let r = mc(e.value(a.name, n), a.type ?? "");
				if (!r) return [];
				let [i, o] = r.shape.length === 2 ? [r.values[3], r.values[7]] : [r.values[0], r.values[1]];
				return [{
					row: t,
					x: Number(i),
					y: Number(o)
				}];
			});
			t.length > 1 && r.paths.push({
				name: a.name,
				places: t
			});
			continue;
		}
		let t = n.map((t, n) => Qp(e.value(a.name, n), a.type)), o = {
			name: a.name,
			type: a.type,
			unit: a.unit,
			isFlag: a.type === "bool",
			values: t
		}, s = a.unit ?? a.name;
		i.has(s) || i.set(s, []), i.get(s).push(o);
	}
	return r.plots = [...i.values()].slice(0, Zp), r;
}
// src/Plot.svelte
var em = K("<span><i></i> <b> </b></span>"), tm = K("<figure class=\"plot\"><div class=\"canvas\"></div> <figcaption></figcaption></figure>");
function nm(e, t) {
	Re(t, !0);
	let n = I(void 0), r = I(null), i = [
		"--line-1",
		"--line-2",
		"--line-3",
		"--line-4",
		"--line-5",
		"--line-6"
	], a = matchMedia("(prefers-color-scheme: dark)"), o = P(() => t.series.every((e) => e.isFlag) ? 66 : 116), s = I(Wt(a.matches));
	H(() => {
		let e = () => L(s, a.matches, !0);
		return a.addEventListener("change", e), () => a.removeEventListener("change", e);
	}), H(() => {
		if (W(s), !W(n)) return;
		let e = getComputedStyle(W(n)), a = (t) => e.getPropertyValue(t).trim(), c = {
			stroke: a("--soft"),
			grid: {
				stroke: a("--line"),
				width: 1
			},
			ticks: { show: !1 },
			font: "11px system-ui"
		}, l = new Jp({
			width: W(n).clientWidth || 300,
			height: W(o),
			legend: { show: !1 },
			cursor: {
				drag: {
					x: !1,
					y: !1
				},
				points: { show: !1 },
				y: !1
			},
			scales: {
				y: t.series.every((e) => e.isFlag) ? { range: [-.1, 1.1] } : {},
				x: {
					time: !1,
					range: [t.start, Math.max(t.start + 1, t.end - 1)]
				}
			},
			axes: [{
				...c,
				size: 26,
				values: (e, t) => t.map((e) => Number.isInteger(e) ? String(e) : "")
			}, {
				...c,
				size: 58,
				splits: t.series.every((e) => e.isFlag) ? () => [0, 1] : void 0,
				values: (e, t) => t.map((e) => e === null ? "" : Qs(e))
			}],
			series: [{}, ...t.series.map((e, n) => ({
				paths: e.isFlag ? Jp.paths.stepped({ align: 1 }) : void 0,
				stroke: a(i[n % i.length]),
				width: 1.5,
				points: { show: t.rows.length < 3 }
			}))],
			hooks: { draw: [(e) => {
				let t = e.valToPos($.row, "x", !0), { ctx: n, bbox: r } = e;
				n.save(), n.strokeStyle = a("--accent"), n.lineWidth = 2 * devicePixelRatio, n.beginPath(), n.moveTo(t, r.top), n.lineTo(t, r.top + r.height), n.stroke(), n.restore();
			}] }
		}, [t.rows, ...t.series.map((e) => e.values)], W(n)), u = new ResizeObserver(() => W(n) && l.setSize({
			width: W(n).clientWidth,
			height: W(o)
		}));
		return u.observe(W(n)), l.over.addEventListener("click", () => {
			let e = l.posToVal(l.cursor.left ?? 0, "x");
			$.step(Math.min(t.end - 1, Math.max(t.start, Math.round(e))));
		}), L(r, l), () => {
			u.disconnect(), l.destroy(), L(r, null);
		};
	}), H(() => {
		$.row, W(r)?.redraw(!1);
	});
	let c = (e) => t.batch ? Qp(t.batch.value(e.name, 0), e.type) : null;
	var l = tm(), u = R(l);
	Ci(u, (e) => L(n, e), () => W(n));
	var d = V(u, 2);
	X(d, 21, () => t.series, Rr, (e, t, n) => {
		let r = P(() => c(W(t)));
		var i = em(), a = R(i);
		Qr(a, 1, `key-${n % 6 + 1}`);
		var o = V(a), s = B(V(o), !0);
		j(i), U((e) => {
			J(o, `${W(t).name ?? ""}${W(t).unit ? ` (${W(t).unit})` : ""} `), J(s, e);
		}, [() => W(r) === null ? "null" : Qs(W(r))]), q(e, i);
	}), j(d), j(l), q(e, l), ze();
}
// \0vite/preload-helper.js
var rm = (function() {
	let e = typeof document < "u" && document.createElement("link").relList;
	return e && e.supports && e.supports("modulepreload") ? "modulepreload" : "preload";
})(), im = function(e) {
	return "/" + e;
}, am = {}, om = function(e) {
	return e.pathname.endsWith(".css");
}, sm = function(e, t, n) {
	if (t in e) return e[t];
	let r = n();
	if (!r) {
		e[t] = void 0;
		return;
	}
	let i = r.then(() => {
		e[t] = void 0;
	}, (n) => {
		throw e[t] = void 0, n;
	});
	return e[t] = i, i;
}, cm = function(e, t, n) {
	let r = Promise.resolve();
	if (t && t.length > 0) {
		let e, i = document.querySelector("meta[property=csp-nonce]"), a = i?.nonce || i?.getAttribute("nonce");
		function o(e) {
			return Promise.all(e.map((e) => Promise.resolve(e).then((e) => ({
				status: "fulfilled",
				value: e
			}), (e) => ({
				status: "rejected",
				reason: e
			}))));
		}
		function s(e) {
			return import.meta.resolve ? new URL(import.meta.resolve(e)) : new URL(e, import.meta.url);
		}
		r = o(t.map((t) => {
			t = im(t, n);
			let r = s(t), i = om(r);
			return sm(am, r.href, () => {
				if (e === void 0) {
					e = {
						all: new Set(),
						styles: new Set()
					};
					let t = document.getElementsByTagName("link");
					for (let n = t.length - 1; n >= 0; n--) {
						let r = t[n];
						e.all.add(r.href), r.rel === "stylesheet" && e.styles.add(r.href);
					}
				}
				if ((i ? e.styles : e.all).has(r.href)) return;
				let t = document.createElement("link");
				if (t.rel = i ? "stylesheet" : rm, i || (t.as = "script"), t.crossOrigin = "", t.href = r.href, a && t.setAttribute("nonce", a), document.head.appendChild(t), i) return new Promise((e, n) => {
					let i = (a) => {
						t.removeEventListener("load", i), t.removeEventListener("error", i), a.type === "error" ? n(Error(`Unable to preload CSS for ${r}`)) : e(a);
					};
					t.addEventListener("load", i), t.addEventListener("error", i);
				});
			});
		}).filter((e) => e !== void 0));
	}
	function i(e) {
		let t = new Event("vite:preloadError", { cancelable: !0 });
		if (t.payload = e, window.dispatchEvent(t), !t.defaultPrevented) throw e;
	}
	return r.then((t) => {
		for (let e of t || []) e.status === "rejected" && i(e.reason);
		return e().catch(i);
	});
}, lm = K("<p class=\"failure\"> </p>"), um = K("<canvas role=\"img\"></canvas> <div class=\"over\" role=\"group\"><button class=\"quiet\">3-D</button> <button class=\"quiet\">From above</button></div>", 1), dm = K("<figure class=\"points\"><!> <figcaption><span> </span> <span> </span></figcaption></figure>");
function fm(e, t) {
	Re(t, !0);
	let n = I(void 0), r = I(!1), i = I(""), a = I(null);
	H(() => {
		if (!W(n)) return;
		let e = W(n), t = !1, r = new ResizeObserver(() => W(a)?.size());
		return cm(async () => {
			let { Scene3: e } = await import("./points.js");
			return { Scene3: e };
		}, []).then(({ Scene3: n }) => {
			t || (L(a, new n(e)), r.observe(e));
		}).catch((e) => L(i, `This browser draws no points: ${e.message}`)), () => {
			t = !0, r.disconnect(), W(a)?.close(), L(a, null);
		};
	}), H(() => {
		W(a) && W(n) && W(a).show({
			points: t.points,
			boxes: t.boxes
		}, getComputedStyle(W(n)).getPropertyValue("--box").trim() || "#d9822b");
	}), H(() => W(a)?.look(W(r)));
	var o = dm(), s = R(o), c = (e) => {
		var t = lm(), n = B(t, !0);
		U(() => J(n, W(i))), q(e, t);
	}, l = (e) => {
		var i = um(), a = z(i);
		Ci(a, (e) => L(n, e), () => W(n));
		var o = V(a, 2), s = R(o), c = V(s, 2);
		j(o), U((e) => {
			Z(a, "aria-label", `${t.name ?? ""}: ${e ?? ""} ${t.boxes ? `${t.boxes.shape[0]} boxes` : ""}`), Z(o, "aria-label", `View of ${t.name ?? ""}`), Z(s, "aria-pressed", !W(r)), Z(c, "aria-pressed", W(r));
		}, [() => t.points ? Ys(t.points.shape[0], "point") : ""]), G("click", s, () => L(r, !1)), G("click", c, () => L(r, !0)), q(e, i);
	};
	Y(s, (e) => {
		W(i) ? e(c) : e(l, -1);
	});
	var u = V(s, 2), d = R(u), f = B(d, !0), p = B(V(d, 2));
	j(u), j(o), U((e, n) => {
		J(f, t.name), J(p, `${e ?? ""}${n ?? ""} · coloured by height`);
	}, [() => t.points ? Ys(t.points.shape[0], "point") : "", () => t.boxes ? ` · ${Js(t.boxes.shape[0])} boxes` : ""]), q(e, o), ze();
}
hr(["click"]);
// src/Tensor.svelte
var pm = K("<p class=\"absent\">no elements</p>"), mm = K("<td> </td>"), hm = K("<tr></tr>"), gm = K("<p class=\"more\"> </p>"), _m = K("<table><tbody></tbody></table> <!>", 1), vm = K("<canvas role=\"img\"></canvas>"), ym = K("<div><dt>NaN</dt><dd> </dd></div>"), bm = K("<!> <dl><div><dt>least</dt><dd> </dd></div> <div><dt>mean</dt><dd> </dd></div> <div><dt>most</dt><dd> </dd></div> <!></dl>", 1), xm = K("<div class=\"tensor\"><p class=\"label\"><span> </span><span> </span></p> <!></div>");
function Sm(e, t) {
	Re(t, !0);
	let n = I(void 0), r = P(() => hc(t.tensor.values)), i = P(() => t.tensor.values.length), a = P(() => {
		let e = t.tensor.shape.filter((e) => e !== 1);
		return e.length >= 2 ? [e[e.length - 2], e[e.length - 1]] : [1, e[0] ?? 1];
	}), o = P(() => W(a)[0] > 1 && W(a)[1] > 6 && W(a)[0] <= 2048 && W(a)[1] <= 2048), s = P(() => W(a)[0] > 1 ? W(a)[1] : Math.min(W(i), 5)), c = P(() => W(i) <= 16 || t.tensor.shape.length < 3 && W(s) <= 6);
	H(() => {
		if (!W(n) || !W(o)) return;
		let [e, i] = W(a);
		W(n).width = i, W(n).height = e;
		let s = W(n).getContext("2d"), c = s.createImageData(i, e), l = Math.max(1e-300, W(r).most - W(r).least);
		for (let n = 0; n < e * i; n++) {
			let e = Number(t.tensor.values[n]), i = (e - W(r).least) / l;
			c.data[4 * n] = 20 + 230 * i ** 1.2, c.data[4 * n + 1] = 28 + 190 * i ** .9, c.data[4 * n + 2] = 84 + 120 * i * (1 - i) * 2 - 30 * i, c.data[4 * n + 3] = Number.isNaN(e) ? 0 : 255;
		}
		s.putImageData(c, 0, 0);
	});
	let l = P(() => {
		if (!W(c) || !W(i)) return [];
		let e = Array.from({ length: Math.min(W(i), 8 * W(s)) }, (e, n) => Number(t.tensor.values[n]));
		return Array.from({ length: Math.ceil(e.length / W(s)) }, (t, n) => e.slice(n * W(s), (n + 1) * W(s)));
	});
	var u = xm(), d = R(u), f = R(d), p = B(f, !0), m = B(V(f));
	j(d);
	var h = V(d, 2), g = (e) => {
		q(e, pm());
	}, _ = (e) => {
		var n = _m(), r = z(n), a = R(r);
		X(a, 21, () => W(l), Rr, (e, t) => {
			var n = hm();
			X(n, 21, () => W(t), Rr, (e, t) => {
				var n = mm(), r = B(n, !0);
				U((e) => J(r, e), [() => Qs(W(t))]), q(e, n);
			}), j(n), q(e, n);
		}), j(a), j(r);
		var o = V(r, 2), c = (e) => {
			var t = gm(), n = B(t);
			U(() => J(n, `the first ${8 * W(s)} of ${W(i) ?? ""} values`)), q(e, t);
		};
		Y(o, (e) => {
			W(i) > 8 * W(s) && e(c);
		}), U(() => Z(r, "aria-label", t.name)), q(e, n);
	}, v = (e) => {
		var i = bm(), a = z(i), s = (e) => {
			var r = vm();
			Ci(r, (e) => L(n, e), () => W(n)), U(() => Z(r, "aria-label", `${t.name ?? ""} as a heat map`)), q(e, r);
		};
		Y(a, (e) => {
			W(o) && e(s);
		});
		var c = V(a, 2), l = R(c), u = B(V(R(l)), !0);
		j(l);
		var d = V(l, 2), f = B(V(R(d)), !0);
		j(d);
		var p = V(d, 2), m = B(V(R(p)), !0);
		j(p);
		var h = V(p, 2), g = (e) => {
			var t = ym(), n = B(V(R(t)), !0);
			j(t), U(() => J(n, W(r).nan)), q(e, t);
		};
		Y(h, (e) => {
			W(r).nan && e(g);
		}), j(c), U((e, t, n) => {
			J(u, e), J(f, t), J(m, n);
		}, [
			() => Qs(W(r).least),
			() => Qs(W(r).mean),
			() => Qs(W(r).most)
		]), q(e, i);
	};
	Y(h, (e) => {
		W(i) ? W(c) ? e(_, 1) : e(v, -1) : e(g);
	}), j(u), U((e) => {
		J(p, t.name), J(m, `${e ?? ""}${t.unit ? ` · ${t.unit}` : ""}`);
	}, [() => t.tensor.shape.join(" × ")]), q(e, u), ze();
}
// src/Card.svelte
var Cm = K("<div class=\"damaged\" role=\"alert\"><b>This group cannot be read here.</b> <p> </p></div>"), wm = K("<p class=\"absent tall\" role=\"status\">reading …</p>"), Tm = K("<p class=\"absent tall\">The other table of this merge has no row here.</p>"), Em = K("<div></div>"), Dm = K("<!> <!>", 1), Om = K("<small> </small>"), km = K("<div><dt> </dt> <dd> <!></dd></div>"), Am = K("<dl class=\"pairs\"></dl>"), jm = K("<div class=\"long\"><p class=\"label\"><span> </span></p> <pre tabindex=\"0\"> </pre></div>"), Mm = K("<p class=\"absent\">null</p>"), Nm = K("<pre class=\"hex\" tabindex=\"0\"> </pre>"), Pm = K("<div class=\"long\"><p class=\"label\"><span> </span><span> </span></p> <!></div>"), Fm = K("<!> <!> <!> <!> <!> <!> <!> <!>", 1), Im = K("<section><h2> <small> </small></h2> <!></section>");
function Lm(e, t) {
	Re(t, !0);
	let n = P(() => t.batch ? t.group.columns.map((e) => {
		let n = t.batch.value(e.name, 0), r = Xp(e);
		return r === "bytes" ? {
			column: e,
			value: n,
			kind: pc(n) || n === null && t.strip ? "picture" : "bytes"
		} : n !== null && (r === "points" || r === "boxes") ? {
			column: e,
			value: n,
			kind: "points"
		} : n !== null && (r === "tensor" || r === "pose") ? {
			column: e,
			value: n,
			kind: "tensor"
		} : n !== null && r === "text" && String(n).length > 40 ? {
			column: e,
			value: n,
			kind: "text"
		} : {
			column: e,
			value: n,
			kind: "pair"
		};
	}) : []), r = (e) => W(n).filter((t) => t.kind === e), i = P(() => r("points").filter((e) => Xp(e.column) === "points")), a = P(() => r("points").find((e) => Xp(e.column) === "boxes")), o = P(() => t.batch !== null && t.group.columns.length > 0 && !t.batch.there(t.group.columns[0].name, 0) && t.batch.rows[0] !== null), s = P(() => r("picture").length > 1);
	function c(e) {
		let t = String(e);
		if (!/^\s*[[{]/.test(t) || t.length > 1e6) return t.slice(0, 2e4);
		try {
			return JSON.stringify(JSON.parse(t), null, 2).slice(0, 2e4);
		} catch {
			return t.slice(0, 2e4);
		}
	}
	function l(e) {
		let t = e.subarray(0, 256), n = [];
		for (let e = 0; e < t.length; e += 16) {
			let r = t.subarray(e, e + 16), i = Array.from(r, (e) => e.toString(16).padStart(2, "0")).join(" "), a = Array.from(r, (e) => e > 31 && e < 127 ? String.fromCharCode(e) : "·").join("");
			n.push(`${e.toString(16).padStart(4, "0")}  ${i.padEnd(47)}  ${a}`);
		}
		return n.join("\n");
	}
	function u(e, t) {
		if (Array.isArray(e) || ArrayBuffer.isView(e)) {
			let n = Array.from(e);
			return `[${n.slice(0, 12).map((e) => ac(e, t.startsWith("bf16[") ? "bf16" : "")).join(", ")}${n.length > 12 ? `, … ${n.length}` : ""}]`;
		}
		return ac(e, t);
	}
	var d = Im();
	let f;
	var p = R(d), m = R(p), h = B(V(m), !0);
	j(p);
	var g = V(p, 2), _ = (e) => {
		var n = Cm(), r = B(V(R(n), 2), !0);
		j(n), U(() => J(r, t.failure)), q(e, n);
	}, v = (e) => {
		q(e, wm());
	}, y = (e) => {
		q(e, Tm());
	}, b = (e) => {
		var n = Fm(), o = z(n), d = (e) => {
			var n = Em();
			let i;
			X(n, 21, () => r("picture"), (e) => e.column.name, (e, n) => {
				Vc(e, {
					get name() {
						return W(n).column.name;
					},
					get batch() {
						return t.batch;
					},
					get strip() {
						return t.strip;
					},
					get isStale() {
						return t.isStale;
					},
					get before() {
						return t.before;
					}
				});
			}), j(n), U(() => i = Qr(n, 1, "pictures", null, i, { several: W(s) })), q(e, n);
		}, f = P(() => r("picture").length);
		Y(o, (e) => {
			W(f) && e(d);
		});
		var p = V(o, 2);
		X(p, 17, () => W(i), (e) => e.column.name, (e, n) => {
			{
				let r = P(() => mc(W(n).value, W(n).column.type ?? "")), i = P(() => W(a) ? mc(W(a).value, W(a).column.type ?? "") : t.boxes);
				fm(e, {
					get name() {
						return W(n).column.name;
					},
					get points() {
						return W(r);
					},
					get boxes() {
						return W(i);
					}
				});
			}
		});
		var m = V(p, 2), h = (e) => {
			{
				let t = P(() => mc(W(a).value, W(a).column.type ?? ""));
				Sm(e, {
					get name() {
						return W(a).column.name;
					},
					get tensor() {
						return W(t);
					},
					get unit() {
						return W(a).column.unit;
					}
				});
			}
		};
		Y(m, (e) => {
			W(a) && !W(i).length && e(h);
		});
		var g = V(m, 2), _ = (e) => {
			var n = Dm(), r = z(n);
			X(r, 17, () => t.along.paths, (e) => e.name, (e, t) => {
				Ac(e, {
					get name() {
						return W(t).name;
					},
					get places() {
						return W(t).places;
					},
					get row() {
						return $.row;
					}
				});
			}), X(V(r, 2), 17, () => t.along.plots, Rr, (e, n) => {
				nm(e, {
					get rows() {
						return t.along.rows;
					},
					get series() {
						return W(n);
					},
					get batch() {
						return t.batch;
					},
					get start() {
						return t.sequence.start;
					},
					get end() {
						return t.sequence.end;
					}
				});
			}), q(e, n);
		};
		Y(g, (e) => {
			t.along && e(_);
		});
		var v = V(g, 2);
		X(v, 17, () => r("tensor"), (e) => e.column.name, (e, t) => {
			let n = P(() => mc(W(t).value, W(t).column.type ?? ""));
			var r = Er(), i = z(r), a = (e) => {
				Sm(e, {
					get name() {
						return W(t).column.name;
					},
					get tensor() {
						return W(n);
					},
					get unit() {
						return W(t).column.unit;
					}
				});
			};
			Y(i, (e) => {
				W(n) && e(a);
			}), q(e, r);
		});
		var y = V(v, 2), b = (e) => {
			var t = Am();
			X(t, 21, () => r("pair"), (e) => e.column.name, (e, t) => {
				var n = km(), r = R(n), i = B(r, !0), a = V(r, 2);
				let o;
				var s = R(a, !0), c = V(s), l = (e) => {
					var n = Om(), r = B(n);
					U(() => J(r, ` ${W(t).column.unit ?? ""}`)), q(e, n);
				};
				Y(c, (e) => {
					W(t).column.unit && W(t).value !== null && e(l);
				}), j(a), j(n), U((e) => {
					J(i, W(t).column.name), o = Qr(a, 1, "", null, o, { null: W(t).value === null }), J(s, e);
				}, [() => u(W(t).value, W(t).column.type ?? "")]), q(e, n);
			}), j(t), q(e, t);
		}, x = P(() => r("pair").length);
		Y(y, (e) => {
			W(x) && e(b);
		});
		var S = V(y, 2);
		X(S, 17, () => r("text"), (e) => e.column.name, (e, t) => {
			var n = jm(), r = R(n), i = B(R(r), !0);
			j(r);
			var a = V(r, 2), o = B(a, !0);
			j(n), U((e) => {
				J(i, W(t).column.name), Z(a, "aria-label", W(t).column.name), J(o, e);
			}, [() => c(W(t).value)]), q(e, n);
		}), X(V(S, 2), 17, () => r("bytes"), (e) => e.column.name, (e, t) => {
			var n = Pm(), r = R(n), i = R(r), a = B(i, !0), o = B(V(i), !0);
			j(r);
			var s = V(r, 2), c = (e) => {
				q(e, Mm());
			}, u = (e) => {
				var n = Nm(), r = B(n, !0);
				U((e) => {
					Z(n, "aria-label", `${W(t).column.name ?? ""} in hexadecimal`), J(r, e);
				}, [() => l(W(t).value)]), q(e, n);
			};
			Y(s, (e) => {
				W(t).value === null ? e(c) : e(u, -1);
			}), j(n), U((e) => {
				J(a, W(t).column.name), J(o, e);
			}, [() => W(t).value === null ? "" : Xs(W(t).value.length)]), q(e, n);
		}), q(e, n);
	};
	Y(g, (e) => {
		t.failure ? e(_) : t.batch ? W(o) ? e(y, 2) : e(b, -1) : e(v, 1);
	}), j(d), U((e) => {
		f = Qr(d, 1, "card", null, f, { wide: W(s) }), Z(d, "aria-label", t.group.name), Z(d, "aria-busy", !t.batch && !t.failure), J(m, `${t.group.name ?? ""} `), J(h, e);
	}, [() => Ys(t.group.columns.length, "column")]), q(e, d), ze();
}
// src/Player.svelte
var Rm = K("<b> </b> ", 1), zm = K("<small> </small>"), Bm = K("<section class=\"player\" aria-label=\"Sequence\"><div class=\"buttons\"><button class=\"quiet\" aria-label=\"Row before\">←</button> <button class=\"primary\"> </button> <button class=\"quiet\" aria-label=\"Row after\">→</button></div> <input type=\"range\" aria-label=\"Row of the sequence\"/> <p class=\"number\" role=\"status\"><!> <!></p> <button class=\"quiet flagger\"> </button></section>");
function Vm(e, t) {
	Re(t, !0);
	let n = Ei(t, "playing", 15), r = Ei(t, "keys", 19, () => ({})), i = P(() => $.info), a = P(() => W(i).rows - 1), o = (e) => Math.min(Math.max(0, e), W(a)), s = {
		ArrowRight: () => $.step(o($.row + 1)),
		ArrowLeft: () => $.step(o($.row - 1)),
		PageDown: () => $.step(o($.row + 10)),
		PageUp: () => $.step(o($.row - 10)),
		Home: () => t.isKnown && $.step(t.sequence.start),
		End: () => t.isKnown && $.step(Math.max(t.sequence.start, t.sequence.end - 1)),
		f: () => $.flag($.row),
		" ": c,
		Escape: () => $.show("rows")
	};
	function c() {
		n(!n()), n() && $.step($.row + 1 < t.sequence.end ? $.row + 1 : t.sequence.start);
	}
	function l(e) {
		if (e.altKey || e.ctrlKey || e.metaKey || document.querySelector("dialog[open]")) return;
		let t = e.target;
		if (t.matches("input, select, textarea") || t.matches("button") && [" ", "Enter"].includes(e.key)) return;
		let n = r()[e.key] ?? s[e.key];
		n && (e.preventDefault(), n());
	}
	var u = Bm();
	mr("keydown", qt, l);
	var d = R(u), f = R(d), p = V(f, 2), m = B(p, !0), h = V(p, 2);
	j(d);
	var g = V(d, 2);
	di(g);
	var _ = V(g, 2), v = R(_), y = (e) => {
		var n = Rm(), r = z(n), i = B(r, !0), a = V(r);
		U((e, t) => {
			J(i, e), J(a, ` of ${t ?? ""} in its sequence`);
		}, [() => Js($.row - t.sequence.start + 1), () => Js(t.sequence.end - t.sequence.start)]), q(e, n);
	}, b = (e) => {
		var t = Rm(), n = z(t), r = B(n, !0), a = V(n);
		U((e, t) => {
			J(r, e), J(a, ` of ${t ?? ""}`);
		}, [() => Js($.row + 1), () => Js(W(i).rows)]), q(e, t);
	};
	Y(v, (e) => {
		t.sequence.end - t.sequence.start < W(i).rows ? e(y) : e(b, -1);
	});
	var x = V(v, 2), S = (e) => {
		var n = zm(), r = B(n);
		U((e) => J(r, `${e ?? ""} ms`), [() => t.took.toFixed(0)]), q(e, n);
	};
	Y(x, (e) => {
		t.took !== null && e(S);
	}), j(_);
	var C = V(_, 2), w = B(C);
	j(u), U((e, r, i) => {
		f.disabled = $.row <= 0, Z(p, "aria-pressed", n()), J(m, n() ? "Stop" : "Play"), h.disabled = $.row >= W(a), Z(g, "min", t.sequence.start), Z(g, "max", e), fi(g, $.row), Z(C, "aria-pressed", r), J(w, `⚑ ${i ?? ""}`);
	}, [
		() => Math.max(t.sequence.start, t.sequence.end - 1),
		() => $.flags.includes($.row),
		() => $.flags.includes($.row) ? "Flagged" : "Flag"
	]), G("click", f, function(...e) {
		s.ArrowLeft?.apply(this, e);
	}), G("click", p, c), G("click", h, function(...e) {
		s.ArrowRight?.apply(this, e);
	}), G("input", g, (e) => $.step(Number(e.currentTarget.value))), G("click", C, () => $.flag($.row)), q(e, u), ze();
}
hr(["click", "input"]);
// src/Row.svelte
var Hm = K("<p class=\"failure\" role=\"alert\"> </p>"), Um = K("<small> </small>"), Wm = K("<button class=\"same\">=</button>"), Gm = K("<div><dt> </dt> <dd> <!> <!></dd></div>"), Km = K("<dl class=\"pairs\"></dl>"), qm = K("<!> <!> <div class=\"cards\"><section class=\"card index\" aria-labelledby=\"index-card\"><h2 id=\"index-card\">Index <small> </small></h2> <!> <!></section> <div class=\"groups\"></div></div> <p class=\"keys\"><kbd>←</kbd> <kbd>→</kbd> step · <kbd>space</kbd> plays · <kbd>f</kbd> flags · <kbd>Home</kbd> <kbd>End</kbd> of the sequence · <kbd>Esc</kbd> rows</p>", 1);
function Jm(e, t) {
	Re(t, !0);
	let n = I({}), r = I(null), i = I(null), a = I({
		start: 0,
		end: $.info?.rows ?? 0
	}), o = I(""), s = I(!1), c = I(null), l = P(() => $.info), u = P(() => W(l).rows - 1), d = P(() => W(l).index.filter((e) => ic(e.type) && !W(l).sequence_by.includes(e.name) && !W(l).order_by.includes(e.name) && !/^([mun]s|µs)$/.test(e.unit ?? "")).map((e) => e.name)), f = (e, t) => L(n, {
		...W(n),
		[e]: {
			...W(n)[e] ?? { row: -1 },
			...t
		}
	}), p = new Map();
	function h(e, t) {
		let n = `${e}/${t.name}`, r = p.get(n);
		if (r) return r.batch;
		let i = new AbortController(), a = Us("row", [
			["table", $.table],
			["row", e],
			...t.columns.map((e) => ["columns", e.name])
		], i.signal), o = {
			row: e,
			batch: a,
			stop: i,
			isDone: !1
		};
		p.set(n, o), a.then(() => o.isDone = !0, () => p.get(n) === o && p.delete(n));
		let s = p.keys().next().value;
		return p.size > 8 * Math.max(1, W(l).groups.length) && s && p.delete(s), a;
	}
	let g = -1;
	H(() => {
		let e = Math.min($.row, W(u));
		g = e;
		let t = performance.now();
		L(o, "");
		let n = new AbortController();
		for (let [t, n] of p) n.row !== e && n.row !== e + 1 && (n.stop.abort(), n.isDone || p.delete(t));
		Us("rows", [["table", $.table], ["rows", e]], n.signal).then((t) => g === e && L(r, t)).catch((t) => g === e && ((e) => {
			var t = m(e, 2);
			return L(r, t[0]), L(o, t[1], !0), e;
		})([null, t.message]));
		let i = W(l).groups.map((t) => h(e, t).then((n) => {
			g === e && ($.took(e, t.name, n.taken), f(t.name, {
				batch: n,
				failure: void 0,
				row: e
			}));
		}, (n) => g === e && f(t.name, {
			batch: void 0,
			strip: void 0,
			failure: n.message,
			row: e
		}))), d;
		return Promise.allSettled(i).then(() => {
			if (g === e && (L(c, performance.now() - t), W(s) ? e + 1 >= W(a).end ? L(s, !1) : d = setTimeout(() => $.step(e + 1), Math.max(20, 100 - W(c))) : d = setTimeout(() => _(e, n.signal), 60), e + 1 < W(a).end)) for (let t of W(l).groups) h(e + 1, t).catch(() => {});
		}), () => {
			clearTimeout(d), n.abort();
		};
	});
	function _(e, t) {
		for (let n of W(l).groups) {
			let r = n.columns.filter((e) => Xp(e) === "bytes");
			r.length && Us("row", [
				["table", $.table],
				["row", e],
				["before", 3],
				["after", 3],
				...r.map((e) => ["columns", e.name])
			], t).then((t) => {
				if (g !== e) return;
				let i = r.map((e) => e.name);
				$.took(e, n.name, t.taken, i, 3), f(n.name, {
					strip: t,
					stripOf: e
				});
			}).catch(() => g === e && f(n.name, { strip: void 0 }));
		}
	}
	let v = I(!1), y = new AbortController();
	H(() => {
		let e = Math.min($.row, W(u));
		if (or(() => W(v)) && e >= or(() => W(a).start) && e < or(() => W(a).end)) return;
		y.abort();
		let { signal: t } = y = new AbortController();
		L(i, null), L(n, Object.fromEntries(Object.entries(or(() => W(n))).map(([e, t]) => [e, {
			...t,
			along: void 0
		}]))), Hs("sequence", [["table", $.table], ["row", e]], t).then((e) => {
			L(a, e), L(v, !0);
			let n = [
				["table", $.table],
				["start", e.start],
				["end", e.end],
				["points", 500]
			];
			W(d).length && Us("series", [...n, ...W(d).map((e) => ["index", e])], t).then((e) => L(i, $p(e, W(l).index)), () => {});
			for (let e of W(l).groups) {
				let r = e.columns.filter((e) => ["number", "pose"].includes(Xp(e))).map((e) => e.name);
				r.length && Us("series", [...n, ...r.map((e) => ["columns", e])], t).then((t) => f(e.name, { along: $p(t, e.columns) }), () => {});
			}
		}).catch((e) => t.aborted || L(o, e.message, !0));
	});
	let b = P(() => {
		for (let e of W(l).groups) for (let t of e.columns) {
			let r = W(n)[e.name]?.batch;
			if (r && Xp(t) === "boxes") return mc(r.value(t.name, 0), t.type ?? "");
		}
		return null;
	});
	H(() => () => {
		((e) => {
			var t = m(e, 2);
			L(s, t[0], !0), g = t[1];
		})([!1, -1]);
		for (let e of p.values()) e.stop.abort();
		y.abort();
	});
	var x = qm(), S = z(x);
	Vm(S, {
		get sequence() {
			return W(a);
		},
		get isKnown() {
			return W(v);
		},
		get took() {
			return W(c);
		},
		get playing() {
			return W(s);
		},
		set playing(e) {
			L(s, e, !0);
		}
	});
	var C = V(S, 2), w = (e) => {
		var t = Hm(), n = B(t, !0);
		U(() => J(n, W(o))), q(e, t);
	};
	Y(C, (e) => {
		W(o) && e(w);
	});
	var ee = V(C, 2), T = R(ee), E = R(T), te = B(V(R(E)));
	j(E);
	var ne = V(E, 2), re = (e) => {
		var t = Km();
		X(t, 21, () => W(l).index, (e) => e.name, (e, t) => {
			let n = P(() => W(r).value(W(t).name, 0)), i = P(() => W(r).types.get(W(t).name) ?? ""), a = P(() => cc(W(n), W(i)));
			var o = Gm(), s = R(o), c = B(s, !0), l = V(s, 2);
			let u;
			var d = R(l, !0), f = V(d), p = (e) => {
				var n = Um(), r = B(n);
				U(() => J(r, ` ${W(t).unit ?? ""}`)), q(e, n);
			};
			Y(f, (e) => {
				W(t).unit && W(n) !== null && e(p);
			});
			var m = V(f, 2), h = (e) => {
				var r = Wm();
				U(() => {
					Z(r, "aria-label", `Rows with the same ${W(t).name ?? ""}`), Z(r, "title", `Rows with the same ${W(t).name ?? ""}`);
				}), G("click", r, () => {
					$.where = [...$.where, `${lc(W(t).name)} ${W(n) === null ? "IS NULL" : `= ${W(a)}`}`], $.show("rows");
				}), q(e, r);
			};
			Y(m, (e) => {
				(W(a) !== null || W(n) === null) && e(h);
			}), j(l), j(o), U((e) => {
				J(c, W(t).name), u = Qr(l, 1, "", null, u, { null: W(n) === null }), J(d, e);
			}, [() => ac(W(n), W(i))]), q(e, o);
		}), j(t), q(e, t);
	};
	Y(ne, (e) => {
		W(r) && e(re);
	});
	var ie = V(ne, 2), ae = (e) => {
		var t = Er();
		X(z(t), 17, () => W(i).plots, Rr, (e, t) => {
			nm(e, {
				get rows() {
					return W(i).rows;
				},
				get series() {
					return W(t);
				},
				get batch() {
					return W(r);
				},
				get start() {
					return W(a).start;
				},
				get end() {
					return W(a).end;
				}
			});
		}), q(e, t);
	};
	Y(ie, (e) => {
		W(i) && e(ae);
	}), j(T);
	var oe = V(T, 2);
	X(oe, 21, () => W(l).groups, (e) => e.name, (e, t) => {
		let r = P(() => W(n)[W(t).name]);
		{
			let n = P(() => W(r)?.batch ?? null), i = P(() => W(r)?.strip ?? null), o = P(() => W(r)?.stripOf !== Math.min($.row, W(u))), s = P(() => W(r)?.failure ?? null), c = P(() => W(r)?.along ?? null);
			Lm(e, {
				get group() {
					return W(t);
				},
				get batch() {
					return W(n);
				},
				get strip() {
					return W(i);
				},
				get isStale() {
					return W(o);
				},
				before: 3,
				get failure() {
					return W(s);
				},
				get along() {
					return W(c);
				},
				get boxes() {
					return W(b);
				},
				get sequence() {
					return W(a);
				}
			});
		}
	}), j(oe), j(ee), xe(2), U((e) => J(te, `row ${e ?? ""}`), [() => Js($.row)]), q(e, x), ze();
}
hr(["click"]);
// src/Head.svelte
var Ym = wr("<rect></rect>"), Xm = K("<span> </span><span> </span>", 1), Zm = K("<span> </span>"), Qm = K("<svg preserveAspectRatio=\"none\" aria-hidden=\"true\"></svg> <p class=\"range\"><!></p>", 1), $m = K("<li><button><span class=\"share\"></span><span class=\"text\"> </span> <span class=\"times\"> </span></button></li>"), eh = K("<span>too many different to count</span>"), th = K("<ul class=\"values\"></ul> <p class=\"range\"><!></p>", 1), nh = K("<button> </button>"), rh = K("<p class=\"nulls\"><!> <!> <!></p>"), ih = K("<div class=\"head\" role=\"columnheader\"><button class=\"sort\"><span class=\"text\"> </span> <span class=\"arrow\" aria-hidden=\"true\"> </span></button> <p class=\"type\"> </p> <!> <!></div>");
function ah(e, t) {
	Re(t, !0);
	let n = P(() => t.column.type ?? ""), r = P(() => t.head?.counts ?? []), i = P(() => W(r).reduce((e, t) => Math.max(e, t), 1)), a = P(() => 128 / Math.max(1, W(r).length)), o = I(null), s = I(null);
	function c(e) {
		return t.head?.start === void 0 || t.head.width === void 0 ? null : t.head.whole ? String(BigInt(t.head.start) + BigInt(t.head.width) * BigInt(e)) : Number(t.head.start) + Number(t.head.width) * e;
	}
	function l(e) {
		return e == null ? "" : typeof e == "number" ? Qs(e) : W(n) === "date" ? ac(Number(e), W(n)) : ec(W(n)) || W(n).startsWith("duration") ? ac(BigInt(e), W(n)) : e.replace("-", "−");
	}
	let u = P(() => W(r).length > 1 && !/^(timestamp|date|duration)/.test(W(n)));
	function d(e) {
		if (!W(u) || W(s) === null) return;
		let [n, i] = [Math.min(W(s), e), Math.max(W(s), e)];
		L(s, null);
		let a = lc(t.column.name), o = i === W(r).length - 1, l = (e) => typeof e == "number" ? sc(e) : e, d = o ? ` AND ${a} <= ${l(t.head?.most)}` : ` AND ${a} < ${l(c(i + 1))}`;
		$.filter(`${a} >= ${l(c(n))}${d}`, `${a} >= `);
	}
	function f(e) {
		let t = e.currentTarget.getBoundingClientRect();
		return Math.min(W(r).length - 1, Math.max(0, Math.floor((e.clientX - t.left) / t.width * W(r).length)));
	}
	let p = (e) => `${lc(t.column.name)} = ${W(n) === "bool" ? e : `'${e.replaceAll("'", "''")}'`}`, h = (e) => Math.max(2, Math.round(100 * e / Math.max(1, t.head?.rows ?? 1))), g = P(() => $.sort === t.column.name ? $.descending ? "descending" : "ascending" : "none"), _ = P(() => t.column.unit ? ` · ${t.column.unit}` : "");
	var v = ih();
	let y;
	var b = R(v), x = R(b), S = B(x, !0), C = B(V(x, 2), !0);
	j(b);
	var w = V(b, 2), ee = B(w), T = V(w, 2), E = (e) => {
		var p = Qm(), h = z(p);
		let g;
		Z(h, "viewBox", "0 0 128 34"), X(h, 21, () => W(r), Rr, (e, t, n) => {
			let r = P(() => W(t) ? Math.max(1.5, W(t) / W(i) * 32) : 0), c = P(() => W(o) !== null && n >= Math.min(W(o), W(s) ?? W(o)) && n <= Math.max(W(o), W(s) ?? W(o)));
			var l = Ym();
			let u;
			U((e) => {
				Z(l, "x", n * W(a)), Z(l, "y", 34 - W(r)), Z(l, "width", e), Z(l, "height", W(r)), u = Qr(l, 0, "", null, u, { chosen: W(c) });
			}, [() => Math.max(.6, W(a) - .5)]), q(e, l);
		}), j(h);
		var _ = V(h, 2), v = R(_), y = (e) => {
			var t = Xm(), n = z(t), i = B(n, !0), a = B(V(n), !0);
			U((e, t) => {
				J(i, e), J(a, t);
			}, [() => l(c(W(o))), () => Js(W(r)[W(o)])]), q(e, t);
		}, b = (e) => {
			var n = Zm(), r = B(n);
			U((e) => J(r, `all ${e ?? ""}`), [() => l(t.head.least)]), q(e, n);
		}, x = (e) => {
			var n = Zm(), r = B(n);
			U((e, t, i) => {
				Z(n, "title", `${e ?? ""} to ${t ?? ""}`), J(r, `${i ?? ""} …`);
			}, [
				() => l(t.head.least),
				() => l(t.head.most),
				() => l(t.head.least).slice(0, 16)
			]), q(e, n);
		}, S = P(() => ec(W(n)) || l(t.head.least).length + l(t.head.most).length > 20), C = (e) => {
			var n = Xm(), r = z(n), i = B(r, !0), a = B(V(r), !0);
			U((e, t) => {
				J(i, e), J(a, t);
			}, [() => l(t.head.least), () => l(t.head.most)]), q(e, n);
		};
		Y(v, (e) => {
			W(o) === null ? t.head.least === t.head.most ? e(b, 1) : W(S) ? e(x, 2) : e(C, -1) : e(y);
		}), j(_), U(() => g = Qr(h, 0, "histogram", null, g, { choosable: W(u) })), G("pointerdown", h, (e) => L(s, f(e), !0)), G("pointerup", h, (e) => d(f(e))), G("pointermove", h, (e) => L(o, f(e), !0)), mr("pointerleave", h, () => ((e) => {
			var t = m(e, 2);
			return L(o, t[0], !0), L(s, t[1], !0), e;
		})([null, null])), q(e, p);
	}, te = (e) => {
		var n = th(), r = z(n);
		X(r, 21, () => (t.head.values ?? []).slice(0, 3), Rr, (e, n) => {
			var r = P(() => m(W(n), 2));
			let i = () => W(r)[0], a = () => W(r)[1];
			var o = $m(), s = R(o), c = R(s);
			let l;
			var u = V(c), d = B(u, !0), f = B(V(u, 2), !0);
			j(s), j(o), U((e, t, n) => {
				Z(s, "title", `${i() ?? ""}: ${e ?? ""} rows`), l = ei(c, "", l, { width: t }), J(d, i() === "" ? "\"\"" : i()), J(f, n);
			}, [
				() => Js(a()),
				() => `${h(a()) ?? ""}%`,
				() => Js(a())
			]), G("click", s, () => $.filter(p(i()), `${lc(t.column.name)} = `)), q(e, o);
		}), j(r);
		var i = V(r, 2), a = R(i), o = (e) => {
			q(e, eh());
		}, s = (e) => {
			var n = Zm(), r = B(n);
			U((e) => J(r, `${e ?? ""} different`), [() => Js(t.head.distinct ?? 0)]), q(e, n);
		};
		Y(a, (e) => {
			t.head.distinct === null ? e(o) : (t.head.distinct ?? 0) > 3 && e(s, 1);
		}), j(i), q(e, n);
	};
	Y(T, (e) => {
		t.head?.kind === "numbers" && W(r).length ? e(E) : t.head?.kind === "values" && e(te, 1);
	});
	var ne = V(T, 2), re = (e) => {
		var n = rh(), r = R(n), i = (e) => {
			var n = nh(), r = B(n);
			U((e) => J(r, `${e ?? ""} null${t.head.nulls === 1 ? "" : "s"}`), [() => Js(t.head.nulls)]), G("click", n, () => $.filter(`${lc(t.column.name)} IS NULL`)), q(e, n);
		};
		Y(r, (e) => {
			t.head.nulls && e(i);
		});
		var a = V(r, 2), o = (e) => {
			var n = Zm(), r = B(n);
			U((e) => J(r, `${e ?? ""} NaN`), [() => Js(t.head.nan)]), q(e, n);
		};
		Y(a, (e) => {
			t.head.nan && e(o);
		});
		var s = V(a, 2), c = (e) => {
			var n = Zm(), r = B(n);
			U((e) => J(r, `${e ?? ""} infinite`), [() => Js(t.head.infinite)]), q(e, n);
		};
		Y(s, (e) => {
			t.head.infinite && e(c);
		}), j(n), q(e, n);
	};
	Y(ne, (e) => {
		t.head && (t.head.nulls || t.head.nan || t.head.infinite) && e(re);
	}), j(v), U(() => {
		Z(v, "aria-sort", W(g)), y = ei(v, "", y, { width: `${t.width ?? ""}px` }), Z(b, "title", `Sort by ${t.column.name ?? ""}`), J(S, t.column.name), J(C, W(g) === "ascending" ? "↑" : W(g) === "descending" ? "↓" : ""), J(ee, `${W(n) ?? ""}${W(_) ?? ""}`);
	}), G("click", b, () => $.sortBy(t.column.name)), q(e, v), ze();
}
hr([
	"click",
	"pointerdown",
	"pointerup",
	"pointermove"
]);
// src/rows.ts
var oh = 128, sh = 64, ch = class {
	pages = new Map();
	wanted = [];
	running = new Map();
	parameters;
	changed;
	constructor(e, t) {
		this.parameters = e, this.changed = t;
	}
	look(e, t) {
		let n = Math.floor(e / oh), r = Math.floor(Math.max(e, t - 1) / oh);
		this.wanted = [];
		for (let e = n; e <= r; e++) this.wanted.push(e);
		for (let [e, t] of this.running) (e < n - 1 || e > r + 1) && (t.abort(), this.running.delete(e));
		for (let e of this.wanted) this.read(e);
	}
	row(e) {
		let t = Math.floor(e / oh), n = this.pages.get(t);
		return n && e - t * oh < n.rows.length ? {
			batch: n,
			place: e - t * oh
		} : null;
	}
	close() {
		for (let e of this.running.values()) e.abort();
	}
	async read(e) {
		if (this.pages.has(e) || this.running.has(e)) return;
		let t = new AbortController();
		this.running.set(e, t);
		try {
			let n = await Us("rows", [
				...this.parameters,
				["start", e * oh],
				["count", oh]
			], t.signal);
			if (this.pages.set(e, n), this.pages.size > sh) {
				let e = [...this.pages.keys()].find((e) => !this.wanted.includes(e));
				e !== void 0 && this.pages.delete(e);
			}
			this.changed();
		} catch (e) {
			t.signal.aborted || this.changed(e);
		} finally {
			this.running.get(e) === t && this.running.delete(e);
		}
	}
}, lh = K("<b> </b> ", 1), uh = K("<span class=\"busy\" aria-label=\"working\"></span>"), dh = K("<li><code> </code><button>×</button></li>"), fh = K("<li>by <code> </code> <button aria-label=\"Do not sort\">×</button></li>"), ph = K("<li><label><input type=\"checkbox\"/> </label></li>"), mh = K("<ul class=\"chips\" aria-label=\"What is chosen\"><!> <!> <!></ul>"), hh = K("<p id=\"sql-failure\" class=\"failure\" role=\"alert\"> </p>"), gh = K("<span class=\"flag\" title=\"flagged\">⚑</span>"), _h = K("<div role=\"gridcell\"> </div>"), vh = K("<div class=\"line\" role=\"row\"><div class=\"cell name\" role=\"gridcell\"> <!></div> <!></div>"), yh = K("<p class=\"empty\">No row fits these conditions.</p>"), bh = K("<p class=\"progress\"> </p>"), xh = K("<section class=\"filters\" aria-label=\"Filter\"><form><label for=\"sql\">WHERE</label> <input id=\"sql\" placeholder=\"a condition in SQL, such as speed > 10\" autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"sql-failure\"/> <button class=\"primary\" type=\"submit\">Filter</button></form> <p class=\"number\" role=\"status\"><!> <!></p> <!> <!></section> <div role=\"grid\" tabindex=\"0\"><div class=\"heads\" role=\"rowgroup\"><div role=\"row\" aria-rowindex=\"1\"><div class=\"corner\" role=\"columnheader\">row</div> <!></div></div> <div class=\"layer\" role=\"rowgroup\"></div> <div class=\"spacer\" role=\"presentation\"></div></div> <!> <!>", 1);
function Sh(e, t) {
	Re(t, !0);
	let n = 15e6, r = I(null), i = I(null), a = I(null), o = null, s = I(0), c = I(0), l = I(0), u = I(600), d = I(""), f = I(!1), p = I(void 0), m = P(() => ($.info?.index ?? []).filter((e) => !$.hidden.includes(e.name))), h = P(() => W(m).map((e) => Math.min(290, Math.max(148, 26 + 8.2 * Math.max(e.name.length + (e.unit ? 2 + e.unit.length : 0), /timestamp/.test(e.type ?? "") ? 30 : /^[iu]64$/.test(e.type ?? "") && e.unit ? 20 : 0))))), g = P(() => W(h).reduce((e, t) => e + t, 0) + 88), _ = P(() => Math.max(1, Math.floor((W(u) - 132) / 30))), v = P(() => Math.max(0, (W(r) ?? 0) - W(_))), y = P(() => Math.min((W(r) ?? 0) * 30, n)), b = P(() => Math.max(1, W(y) - (W(u) - 132))), x = P(() => Math.floor(W(c))), S = P(() => Array.from({ length: Math.max(0, Math.min(W(_) + 2, (W(r) ?? 0) - W(x))) }, (e, t) => W(x) + t));
	H(() => {
		let e = $.parameters, t = new AbortController();
		return L(i, null), L(f, !0), Hs("select", e, t.signal).then(async (n) => {
			if (L(r, n.rows, !0), L(f, !1), await rr(), t.signal.aborted) return;
			o = new ch(e, (e) => {
				e ? L(i, e, !0) : Vt(s);
			});
			let c = Math.min($.row, Math.max(0, n.rows - 1));
			L(l, c, !0), ee($.where.length || $.sort ? 0 : c), Vt(s), Ws("heads", e, (e) => L(a, e), t.signal).catch((e) => {
				t.signal.aborted || L(i, e, !0);
			});
		}).catch((e) => {
			t.signal.aborted || (L(f, !1), L(i, e, !0));
		}), () => {
			t.abort(), o?.close();
		};
	}), H(() => {
		W(s), W(r) && o?.look(W(x), Math.min(W(r), W(x) + W(_) + 2));
	});
	let C = (e) => (W(s), o?.row(e) ?? null), w = -1;
	function ee(e) {
		L(c, Math.min(Math.max(0, e), W(v)), !0), W(p) && (w = W(v) ? Math.round(W(c) / W(v) * W(b)) : 0, W(p).scrollTop = w);
	}
	function T() {
		W(p) && (Math.abs(W(p).scrollTop - w) < 1.5 || (w = W(p).scrollTop, L(c, Math.min(W(v), w / W(b) * W(v)), !0)));
	}
	function E(e) {
		e.ctrlKey || !e.deltaY || W(y) < n || (e.preventDefault(), ee(W(c) + (e.deltaMode ? e.deltaY : e.deltaY / 30)));
	}
	function te(e) {
		L(l, Math.min(Math.max(0, e), Math.max(0, (W(r) ?? 0) - 1)), !0), W(l) < W(c) ? ee(W(l)) : W(l) > W(c) + W(_) - 1 && ee(W(l) - W(_) + 1);
	}
	let ne = {
		ArrowDown: () => te(W(l) + 1),
		ArrowUp: () => te(W(l) - 1),
		PageDown: () => te(W(l) + W(_)),
		PageUp: () => te(W(l) - W(_)),
		Home: () => te(0),
		End: () => te((W(r) ?? 1) - 1),
		Enter: () => ie(W(l))
	};
	function re(e) {
		if (e.target !== W(p) || e.altKey || e.ctrlKey || e.metaKey) return;
		let t = ne[e.key];
		t && (e.preventDefault(), t());
	}
	function ie(e) {
		let t = C(e);
		t && $.open(t.batch.rows[t.place]);
	}
	function ae(e) {
		e.key === "/" && !(e.target instanceof HTMLInputElement) && (e.preventDefault(), document.getElementById("sql")?.focus());
	}
	function oe(e) {
		e.preventDefault(), W(d).trim() && $.filter(W(d).trim()), L(d, "");
	}
	H(() => {
		let e = W(p);
		return e?.addEventListener("wheel", E, { passive: !1 }), () => e?.removeEventListener("wheel", E);
	});
	var se = xh();
	mr("keydown", qt, ae);
	var ce = z(se), le = R(ce), ue = V(R(le), 2);
	di(ue), xe(2), j(le);
	var de = V(le, 2), D = R(de), fe = (e) => {
		q(e, Tr("…"));
	}, O = (e) => {
		var t = lh(), n = z(t), i = B(n, !0), a = V(n);
		U((e, t) => {
			J(i, e), J(a, ` ${t ?? ""}`);
		}, [() => Js(W(r)), () => W(r) === $.info?.rows ? W(r) === 1 ? "row" : "rows" : `of ${Ys($.info?.rows ?? 0, "row")}`]), q(e, t);
	};
	Y(D, (e) => {
		W(r) === null ? e(fe) : e(O, -1);
	});
	var pe = V(D, 2), me = (e) => {
		q(e, uh());
	};
	Y(pe, (e) => {
		W(f) && e(me);
	}), j(de);
	var he = V(de, 2), ge = (e) => {
		var t = mh(), n = R(t);
		X(n, 17, () => $.where, Rr, (e, t) => {
			var n = dh(), r = R(n), i = B(r, !0), a = V(r);
			j(n), U(() => {
				J(i, W(t)), Z(a, "aria-label", `Remove ${W(t) ?? ""}`);
			}), G("click", a, () => $.drop(W(t))), q(e, n);
		});
		var r = V(n, 2), i = (e) => {
			var t = fh(), n = V(R(t)), r = B(n, !0), i = V(n), a = V(i);
			j(t), U(() => {
				J(r, $.sort), J(i, `${$.descending ? " ↓" : " ↑"} `);
			}), G("click", a, () => {
				$.sort = null, $.write(!0);
			}), q(e, t);
		};
		Y(r, (e) => {
			$.sort && e(i);
		});
		var a = V(r, 2), o = (e) => {
			var t = ph(), n = R(t), r = R(n);
			di(r);
			var i = V(r);
			j(n), j(t), U((e) => {
				pi(r, $.flagged), J(i, ` only the ${e ?? ""}`);
			}, [() => Ys($.flags.length, "flagged row")]), G("change", r, (e) => {
				$.flagged = e.currentTarget.checked, $.write(!0);
			}), q(e, t);
		};
		Y(a, (e) => {
			$.flags.length && e(o);
		}), j(t), q(e, t);
	};
	Y(he, (e) => {
		($.where.length || $.flags.length || $.sort) && e(ge);
	});
	var _e = V(he, 2), k = (e) => {
		var t = hh(), n = B(t, !0);
		U(() => J(n, W(i).message)), q(e, t);
	};
	Y(_e, (e) => {
		W(i) && e(k);
	}), j(ce);
	var ve = V(ce, 2);
	let A;
	var ye = R(ve);
	let be;
	var Se = R(ye);
	X(V(R(Se), 2), 19, () => W(m), (e) => e.name, (e, t, n) => {
		{
			let r = P(() => W(a)?.columns[W(t).name] ?? null);
			ah(e, {
				get column() {
					return W(t);
				},
				get width() {
					return W(h)[W(n)];
				},
				get head() {
					return W(r);
				}
			});
		}
	}), j(Se), j(ye);
	var Ce = V(ye, 2);
	let we;
	X(Ce, 21, () => W(S), Rr, (e, t) => {
		let n = P(() => C(W(t))), r = P(() => W(n)?.batch.rows[W(n).place]);
		var i = vh();
		let a;
		var o = R(i), s = R(o, !0), u = V(s), d = (e) => {
			q(e, gh());
		}, f = P(() => W(r) != null && $.flags.includes(W(r)));
		Y(u, (e) => {
			W(f) && e(d);
		}), j(o), X(V(o, 2), 19, () => W(m), (e) => e.name, (e, t, r) => {
			let i = P(() => W(n)?.batch.value(W(t).name, W(n).place)), a = P(() => W(n)?.batch.types.get(W(t).name) ?? "");
			var o = _h();
			let s, c;
			var l = B(o, !0);
			U((e, t) => {
				s = Qr(o, 1, "cell", null, s, {
					right: e,
					null: W(n) && W(i) === null
				}), c = ei(o, "", c, { width: `${W(h)[W(r)] ?? ""}px` }), J(l, t);
			}, [() => rc(W(t).type) && W(t).type !== "bool", () => W(n) ? ac(W(i), W(a)) : ""]), q(e, o);
		}), j(i), U((e) => {
			Z(i, "id", `row-${W(t) ?? ""}`), Z(i, "aria-rowindex", W(t) + 2), Z(i, "aria-selected", W(t) === W(l)), a = ei(i, "", a, { transform: `translateY(${(W(t) - W(c)) * 30}px)` }), J(s, e);
		}, [() => W(r) == null ? "" : Js(W(r))]), G("click", i, () => {
			L(l, W(t), !0), ie(W(t));
		}), q(e, i);
	}), j(Ce);
	var Te = V(Ce, 2);
	let Ee;
	j(ve), Ci(ve, (e) => L(p, e), () => W(p));
	var De = V(ve, 2), M = (e) => {
		q(e, yh());
	};
	Y(De, (e) => {
		W(r) === 0 && e(M);
	});
	var N = V(De, 2), Oe = (e) => {
		var t = bh(), n = B(t);
		U((e, t) => J(n, `heads: ${e ?? ""} of ${t ?? ""}`), [() => Js(W(a).done), () => Ys(W(a).of, "row")]), q(e, t);
	};
	Y(N, (e) => {
		W(a) && W(a).done < W(a).of && e(Oe);
	}), U(() => {
		A = Qr(ve, 1, "grid", null, A, { stale: W(f) }), Z(ve, "aria-label", `Rows of ${$.info?.name ?? ""}`), Z(ve, "aria-rowcount", (W(r) ?? 0) + 1), Z(ve, "aria-colcount", W(m).length + 1), Z(ve, "aria-activedescendant", W(r) ? `row-${W(l)}` : void 0), be = ei(ye, "", be, { width: `${W(g) ?? ""}px` }), we = ei(Ce, "", we, { width: `${W(g) ?? ""}px` }), Ee = ei(Te, "", Ee, { height: `${W(y) ?? ""}px` });
	}), mr("submit", le, oe), _i(ue, () => W(d), (e) => L(d, e)), mr("scroll", ve, T), G("keydown", ve, re), xi(ve, "clientHeight", (e) => L(u, e)), q(e, se), ze();
}
hr([
	"click",
	"change",
	"keydown"
]);
// src/scene.ts
var Ch = (e) => Math.min(e.wide, e.high) / e.metres, wh = (...e) => e.every((e) => typeof e == "number" && Number.isFinite(e));
function Th(e, t, n) {
	let r = Math.PI / 2 - e.up, [i, a] = [t - e.x, n - e.y], [o, s] = [i * Math.cos(r) - a * Math.sin(r), i * Math.sin(r) + a * Math.cos(r)];
	return [e.wide / 2 + o * Ch(e), e.high / 2 - s * Ch(e)];
}
function Eh(e, t, n, r, i) {
	let [a, o] = [Math.sin(n), Math.cos(n)], s = (n, r) => [e + n * o - r * a, t + n * a + r * o];
	return [
		s(r / 2, i / 2),
		s(r / 2, -i / 2),
		s(-r / 2, -i / 2),
		s(-r / 2, i / 2),
		s(r / 2, 0)
	];
}
function Dh(e, t, n, r) {
	let i = null, a = 14;
	return t.forEach((t, o) => {
		if (!wh(t.x, t.y)) return;
		let [s, c] = Th(e, t.x, t.y), l = Math.max(0, Math.hypot(s - n, c - r) - Math.max(t.extent[0] ?? 0, t.extent[1] ?? 0) / 2 * Ch(e)), u = Math.hypot(s - n, c - r) / 1e4;
		l + u < a && ([a, i] = [l + u, o]);
	}), i;
}
function Oh(e, t, n, r = !1) {
	n.forEach(([n, r], i) => {
		let [a, o] = Th(t, n, r);
		i ? e.lineTo(a, o) : e.moveTo(a, o);
	}), r && e.closePath();
}
function kh(e, t, n, r) {
	e.fillStyle = r.lane;
	for (let r of n.lanes) e.beginPath(), Oh(e, t, [...r.left, ...r.right.toReversed()], !0), e.fill();
	e.strokeStyle = r.edge, e.lineWidth = 1, e.beginPath();
	for (let r of n.lanes) Oh(e, t, r.left), Oh(e, t, r.right);
	e.stroke(), e.strokeStyle = r.walk;
	for (let r of n.crosswalks) {
		let n = r.outline.map(([e, n]) => Th(t, e, n));
		if (n.length < 3) continue;
		let [i, a] = [n.map((e) => e[0]), n.map((e) => e[1])], [o, s, c, l] = [
			Math.min(...i),
			Math.max(...i),
			Math.min(...a),
			Math.max(...a)
		];
		if (s < 0 || o > t.wide || l < 0 || c > t.high) continue;
		e.save(), e.beginPath(), Oh(e, t, r.outline, !0), e.lineWidth = 1, e.stroke(), e.clip();
		let u = Math.max(4, 1.2 * Ch(t));
		e.lineWidth = u / 2, e.beginPath();
		let [d, f] = [Math.max(c, -u), Math.min(l, t.high + u)], p = Math.max(o, -u) - (d - c) % u;
		for (let n = p - (f - d); n < Math.min(s, t.wide + u); n += u) e.moveTo(n, f), e.lineTo(n + (f - d), d);
		e.stroke(), e.restore();
	}
}
function Ah(e, t, n, r, i, a) {
	let o = (e) => e.filter((e) => wh(e[1], e[2])).map((e) => [e[1], e[2]]);
	e.strokeStyle = i, e.globalAlpha = a ? 1 : .55, e.lineWidth = a ? 2.5 : 1.25;
	for (let [i, a] of [[[...o(r.filter((e) => e[0] < 0)), n], []], [[n, ...o(r.filter((e) => e[0] > 0))], [5, 4]]]) i.length < 2 || (e.setLineDash(a), e.beginPath(), Oh(e, t, i), e.stroke());
	e.setLineDash([]), e.globalAlpha = 1;
}
function jh(e, t, n, r, i, a, o) {
	let [s, c] = Th(t, n.x, n.y);
	if (s < -80 || c < -80 || s > t.wide + 80 || c > t.high + 80) return;
	let l = 5 / Ch(t), u = Eh(n.x, n.y, n.yaw, Math.max(n.extent[0] ?? 0, l), Math.max(n.extent[1] ?? 0, l)), d = u.pop();
	if (e.beginPath(), Oh(e, t, u, !0), e.fillStyle = r, e.globalAlpha = o ? 1 : a ? .5 : .22, e.fill(), e.globalAlpha = 1, e.strokeStyle = r, e.lineWidth = a ? 2.5 : 1.5, i === 3 && e.setLineDash([3, 2]), e.stroke(), e.setLineDash([]), e.beginPath(), o || Oh(e, t, [[n.x, n.y], d]), e.stroke(), i === 1) {
		let [r, i] = [Math.sin(n.yaw), Math.cos(n.yaw)], a = 5 / Ch(t);
		e.beginPath(), Oh(e, t, [[n.x + a * r, n.y - a * i], [n.x - a * r, n.y + a * i]]), e.stroke();
	}
	i === 2 && (e.beginPath(), e.arc(s, c, 3, 0, 7), e.fill());
}
function Mh(e) {
	let t = (e) => e.state === "active" ? 2 : +(e.state === "unknown"), n = new Map();
	for (let r of e) for (let [e, i] of r.ends) {
		let a = n.get(`${e},${i}`);
		(!a || t(r) > t(a.light)) && n.set(`${e},${i}`, {
			x: e,
			y: i,
			light: r
		});
	}
	return [...n.values()];
}
function Nh(e, t, n, r, i) {
	e.beginPath(), r.colour === "red" ? e.rect(t - 6, n - 6, 12, 12) : r.colour === "yellow" ? (e.moveTo(t, n - 6 - 1), e.lineTo(t + 6 + 1, n + 6), e.lineTo(t - 6 - 1, n + 6), e.closePath()) : e.arc(t, n, 6, 0, 7);
	let a = r.state === "active";
	e.fillStyle = a && r.colour ? i[r.colour] : i.ground, e.fill(), e.strokeStyle = a ? i.ink : i.soft, e.lineWidth = 1.5, r.state === "unknown" && e.setLineDash([2, 2]), e.stroke(), e.setLineDash([]);
}
function Ph(e, t, n) {
	let r = [
		1,
		2,
		5,
		10,
		20,
		50,
		100
	].findLast((e) => e * Ch(t) <= 120) ?? 1, i = r * Ch(t);
	e.strokeStyle = n.soft, e.fillStyle = n.soft, e.lineWidth = 1.5, e.beginPath(), e.moveTo(14, t.high - 18), e.lineTo(14, t.high - 14), e.lineTo(14 + i, t.high - 14), e.lineTo(14 + i, t.high - 18), e.stroke(), e.font = "12px system-ui, sans-serif", e.fillText(`${r} m`, 14, t.high - 24);
	let [a, o] = [t.wide - 24, t.high - 26], s = t.up - Math.PI / 2, [c, l] = [Math.sin(s), -Math.cos(s)];
	e.beginPath(), e.moveTo(a - 9 * c, o - 9 * l), e.lineTo(a + 9 * c, o + 9 * l), e.moveTo(a + 9 * c - 5 * c - 4 * l, o + 9 * l - 5 * l + 4 * c), e.lineTo(a + 9 * c, o + 9 * l), e.lineTo(a + 9 * c - 5 * c + 4 * l, o + 9 * l - 5 * l - 4 * c), e.stroke(), e.textAlign = "center", e.textBaseline = "middle", e.fillText("N", a + 17 * c, o + 17 * l), e.textAlign = "start", e.textBaseline = "alphabetic";
}
function Fh(e, t, n, r, i, a, o) {
	e.fillStyle = i.ground, e.fillRect(0, 0, t.wide, t.high), e.lineJoin = "round", e.lineCap = "round", r && kh(e, t, r, i);
	let s = (e) => e === a || e === o;
	n.agents.forEach((r, a) => {
		n.around && wh(r.x, r.y) && Ah(e, t, [r.x, r.y], n.around.tracks[a] ?? [], i.kinds[r.kind], s(a));
	}), n.ego && n.around && wh(n.ego.x, n.ego.y) && Ah(e, t, [n.ego.x, n.ego.y], n.around.ego, i.ego, !0);
	for (let r of Mh(n.lights)) {
		let [n, a] = Th(t, r.x, r.y);
		r.light.state !== "inactive" && n > -10 && a > -10 && n < t.wide + 10 && a < t.high + 10 && Nh(e, n, a, r.light, i);
	}
	n.agents.forEach((n, r) => {
		wh(n.x, n.y, n.yaw) && jh(e, t, n, i.kinds[n.kind], n.kind, s(r), !1);
	});
	let { ego: c } = n;
	if (c && wh(c.x, c.y, c.yaw)) {
		jh(e, t, c, i.ego, 0, !0, !0);
		let [n, r] = [Math.sin(c.yaw), Math.cos(c.yaw)], a = (e, t) => [c.x + e * r - t * n, c.y + e * n + t * r];
		e.fillStyle = i.ground, e.beginPath(), Oh(e, t, [
			a(c.extent[0] * .38, 0),
			a(c.extent[0] * .05, c.extent[1] * .3),
			a(c.extent[0] * .05, -c.extent[1] * .3)
		], !0), e.fill();
	}
	Ph(e, t, i);
}
// src/Scene.svelte
var Ih = (e, t = d) => {
	var n = Vh(), r = R(n), i = V(r), a = (e) => {
		q(e, Rh());
	};
	Y(i, (e) => {
		t() !== 2 && e(a);
	});
	var o = V(i), s = (e) => {
		q(e, zh());
	};
	Y(o, (e) => {
		t() === 1 && e(s);
	});
	var c = V(o), l = (e) => {
		q(e, Bh());
	};
	Y(c, (e) => {
		t() === 2 && e(l);
	}), j(n), U(() => {
		Qr(n, 0, `sign kind-${t() ?? ""}`), Z(r, "stroke-dasharray", t() === 3 ? "3 2" : void 0);
	}), q(e, n);
}, Lh = (e, t = d) => {
	var n = Gh(), r = R(n), i = (e) => {
		q(e, Hh());
	}, a = (e) => {
		q(e, Uh());
	}, o = (e) => {
		q(e, Wh());
	};
	Y(r, (e) => {
		t().colour === "red" ? e(i) : t().colour === "yellow" ? e(a, 1) : e(o, -1);
	}), j(n), U(() => Qr(n, 0, `lamp ${t().colour ?? "none" ?? ""} ${t().state ?? ""}`)), q(e, n);
}, Rh = wr("<path d=\"M11 7H20\"></path>"), zh = wr("<path d=\"M11 1V13\"></path>"), Bh = wr("<circle cx=\"11\" cy=\"7\" r=\"2.6\"></circle>"), Vh = wr("<svg width=\"22\" height=\"14\" aria-hidden=\"true\"><rect x=\"2\" y=\"2.5\" width=\"18\" height=\"9\" rx=\"1\"></rect><!><!><!></svg>"), Hh = wr("<rect x=\"2\" y=\"2\" width=\"12\" height=\"12\"></rect>"), Uh = wr("<path d=\"M8 1.5 15 14H1z\"></path>"), Wh = wr("<circle cx=\"8\" cy=\"8\" r=\"6\"></circle>"), Gh = wr("<svg width=\"16\" height=\"16\" aria-hidden=\"true\"><!></svg>"), Kh = K("<p class=\"damaged\" role=\"alert\"> </p>"), qh = K("<p class=\"failure\" role=\"alert\"> </p>"), Jh = K("<p class=\"absent veil\" role=\"status\"> </p>"), Yh = K("<li><!> <b> </b></li>"), Xh = K("<p class=\"soft note\"> </p>"), Zh = K("<p class=\"soft note\">There are too many places of tracks: those of the nearest rows are shown.</p>"), Qh = K("<p class=\"soft note\">There is too much map: what is nearest is shown.</p>"), $h = K("<!> <!> <!> <!> <!> <!> <!> <!>", 1), eg = K("<small> </small>"), tg = K("<div><dt>rows with it</dt><dd> </dd></div>"), ng = K("<dl class=\"pairs\"><div><dt>track</dt><dd> </dd></div> <div><dt>label</dt><dd> <!></dd></div> <div><dt>speed</dt><dd> <small>&nbsp;m/s</small></dd></div> <div><dt>velocity x, y</dt><dd> <small>&nbsp;m/s</small></dd></div> <div><dt>heading</dt><dd> <small>°</small></dd></div> <div><dt>size</dt><dd> <small>&nbsp;m</small></dd></div> <div><dt>place x, y</dt><dd> <small>&nbsp;m</small></dd></div> <div><dt>from the own car</dt><dd> <small>&nbsp;m</small></dd></div> <!></dl>"), rg = K("<p class=\"soft\"> </p>"), ig = K("<p class=\"soft\">Point at an agent, or choose one: <kbd>n</kbd> <kbd>p</kbd>.</p>"), ag = K("<li><button><!><span class=\"name\"> <small> </small></span><span> </span></button></li>"), og = K("<ul class=\"list\"></ul>"), sg = K("<p class=\"soft\">none</p>"), cg = K("<li class=\"light\"><!><span class=\"name\"> <small> </small></span><span> </span></li>"), lg = K("<ul class=\"list\" tabindex=\"0\" aria-label=\"Traffic light faces\"></ul> <p class=\"soft\"> </p>", 1), ug = K("<div><dt> </dt><dd> </dd></div>"), dg = K("<div><dt>own car x, y, z</dt><dd> <small>&nbsp;m</small></dd></div> <div><dt>heading</dt><dd> <small>°</small></dd></div>", 1), fg = K("<option> </option>"), pg = K("<dl class=\"pairs\"><!> <!> <div><dt>read</dt><dd> </dd></div> <div><dt><label for=\"around\">rows to each side</label></dt> <dd><select id=\"around\"></select></dd></div></dl>"), mg = K("<!> <!> <div class=\"scene\"><section class=\"card map\" aria-label=\"From above\"><div class=\"above\"><canvas role=\"img\"></canvas> <i class=\"probe\" aria-hidden=\"true\"></i> <!> <div class=\"tools\" role=\"group\" aria-label=\"View\"><button class=\"quiet\" aria-label=\"Closer\">+</button> <button class=\"quiet\" aria-label=\"Farther\">−</button> <button class=\"quiet\">Ahead up</button> <button class=\"quiet\">North up</button></div></div> <ul class=\"legend\" aria-label=\"Legend\"><li><svg class=\"sign own\" width=\"22\" height=\"14\" aria-hidden=\"true\"><rect x=\"2\" y=\"2.5\" width=\"18\" height=\"9\" rx=\"1\"></rect><path d=\"M11 4.5 17 7 11 9.5z\"></path></svg> own car</li> <!> <li><svg class=\"sign tracks\" width=\"52\" height=\"14\" aria-hidden=\"true\"><path d=\"M2 7H25\"></path><path d=\"M27 7H50\" stroke-dasharray=\"5 4\"></path></svg> past, future</li></ul> <!></section> <div class=\"aside\"><section class=\"card\" aria-labelledby=\"agent-card\"><h2 id=\"agent-card\">Agent <small> </small></h2> <!> <!> <!></section> <section class=\"card\" aria-labelledby=\"agents-card\"><h2 id=\"agents-card\">Agents <small> </small></h2> <!> <!> <!></section> <section class=\"card\" aria-labelledby=\"lights-card\"><h2 id=\"lights-card\">Traffic lights <small> </small></h2> <!> <!></section> <section class=\"card\" aria-labelledby=\"frame-card\"><h2 id=\"frame-card\">Row <small> </small></h2> <!></section></div></div> <p class=\"keys\"><kbd>←</kbd> <kbd>→</kbd> step · <kbd>space</kbd> plays · <kbd>+</kbd> <kbd>−</kbd> or wheel closer, farther · <kbd>u</kbd> ahead or north up · <kbd>n</kbd> <kbd>p</kbd> agents · <kbd>f</kbd> flags · <kbd>Home</kbd> <kbd>End</kbd> of the sequence · <kbd>Esc</kbd> rows</p>", 1);
function hg(e, t) {
	Re(t, !0);
	let n = (e, t = d) => {
		var n = Er(), i = z(n), a = (e) => {
			var n = Kh(), i = B(n, !0);
			U(() => J(i, W(r).failures[t()])), q(e, n);
		};
		Y(i, (e) => {
			W(r)?.failures[t()] && e(a);
		}), q(e, n);
	}, r = I(null), i = I(""), a = I(null), o = I(""), s = I({
		start: 0,
		end: $.info?.rows ?? 0
	}), c = I(!1), l = I(!1), u = I(null), f = I(null), p = I(void 0), h = I(void 0), g = I({
		wide: 0,
		high: 0
	}), _ = P(() => $.info), v = P(() => Math.min($.row, W(_).rows - 1)), y = P(() => $.above), b = P(() => $.above.around), x = new Map();
	function S(e) {
		let t = `${e}/${W(b)}`, n = x.get(t);
		if (n) return n.answer;
		let r = new AbortController(), i = Hs("scene", [
			["table", $.table],
			["row", e],
			["before", W(b)],
			["after", W(b)]
		], r.signal), a = {
			row: e,
			answer: i,
			stop: r,
			isDone: !1
		};
		x.set(t, a), i.then(() => a.isDone = !0, () => x.get(t) === a && x.delete(t));
		let o = x.keys().next().value;
		return x.size > 24 && o && x.delete(o), i;
	}
	let C = "";
	H(() => {
		let e = W(v), t = C = `${e}/${W(b)}`, n = performance.now();
		for (let [t, n] of x) n.isDone || (n.row === e || n.row === e + 1) && t.endsWith(`/${W(b)}`) || (n.stop.abort(), x.delete(t));
		let a;
		return S(e).then((e) => {
			C === t && (((e) => {
				var t = m(e, 3);
				L(r, t[0]), L(i, t[1], !0), L(f, t[2], !0);
			})([
				e,
				"",
				null
			]), L(u, performance.now() - n));
		}, (e) => {
			C === t && ((e) => {
				var t = m(e, 2);
				L(r, t[0]), L(i, t[1], !0);
			})([null, e.message]);
		}).then(() => {
			C === t && (W(l) && (e + 1 >= W(s).end ? L(l, !1) : a = setTimeout(() => $.step(e + 1), Math.max(20, 100 - (performance.now() - n)))), e + 1 < W(s).end && S(e + 1).catch(() => {}));
		}), () => clearTimeout(a);
	});
	let w = new AbortController();
	H(() => {
		if (W(c) && W(v) >= W(s).start && W(v) < W(s).end) return;
		w.abort();
		let { signal: e } = w = new AbortController();
		Hs("sequence", [["table", $.table], ["row", W(v)]], e).then((e) => ((e) => {
			var t = m(e, 2);
			return L(s, t[0]), L(c, t[1], !0), e;
		})([e, !0])).catch((t) => e.aborted || L(i, t.message, !0));
	});
	let ee = {
		x: 0,
		y: 0,
		yaw: Math.PI / 2
	}, T = P(() => {
		let { ego: e, agents: t } = W(r) ?? {};
		if (e && e.x !== null && e.y !== null) ee = {
			x: e.x,
			y: e.y,
			yaw: e.yaw ?? Math.PI / 2
		};
		else {
			let e = (t ?? []).filter((e) => e.x !== null && e.y !== null);
			e.length && (ee = {
				x: e.reduce((e, t) => e + t.x, 0) / e.length,
				y: e.reduce((e, t) => e + t.y, 0) / e.length,
				yaw: Math.PI / 2
			});
		}
		return ee;
	}), E = P(() => W(r)?.map ? `${Math.round(W(T).x / 60) * 60},${Math.round(W(T).y / 60) * 60}` : "");
	H(() => {
		if (!W(E)) {
			L(a, null);
			return;
		}
		let [e, t] = W(E).split(","), n = new AbortController();
		return Hs("ground", [
			["table", $.table],
			["x", e],
			["y", t],
			["radius", 330]
		], n.signal).then((e) => ((e) => {
			var t = m(e, 2);
			return L(a, t[0]), L(o, t[1], !0), e;
		})([e, ""]), (e) => n.signal.aborted || ((e) => {
			var t = m(e, 2);
			return L(a, t[0]), L(o, t[1], !0), e;
		})([null, e.message])), () => n.abort();
	});
	let te = (e) => e.x === null || e.y === null ? null : Math.hypot(e.x - W(T).x, e.y - W(T).y), ne = P(() => {
		let e = (W(r)?.agents ?? []).map((e) => te(e) ?? Infinity);
		return e.map((e, t) => t).sort((t, n) => e[t] - e[n]);
	}), re = P(() => {
		let e = (W(r)?.agents ?? []).findIndex((e) => e.track === W(y).track);
		return e < 0 ? null : e;
	}), ie = P(() => W(f) ?? W(re)), ae = P(() => W(ie) === null ? null : W(r)?.agents[W(ie)] ?? null), oe = P(() => (W(r)?.kinds ?? []).map((e, t) => (W(r)?.agents ?? []).filter((e) => e.kind === t).length)), se = P(() => ({
		...W(g),
		metres: W(y).metres,
		x: W(T).x,
		y: W(T).y,
		up: W(y).up === "north" ? Math.PI / 2 : W(T).yaw
	})), ce = P(() => W(r) ? `Row ${W(v)} from above: ${W(r).ego ? "the own car, " : ""}${W(r).kinds.map((e, t) => `${W(oe)[t]} ${e}`).join(", ")}, ${Ys(W(r).lights.length, "traffic light face")}` : "A row from above"), le = matchMedia("(prefers-color-scheme: dark)"), ue = I(Wt(le.matches));
	H(() => {
		let e = () => L(ue, le.matches, !0);
		return le.addEventListener("change", e), () => le.removeEventListener("change", e);
	});
	let de = P(() => {
		if (W(ue), !W(h)) return null;
		let e = W(h), t = (t) => (e.style.color = `var(--scene-${t})`, getComputedStyle(e).color);
		return {
			...Object.fromEntries([
				"ground",
				"lane",
				"edge",
				"walk",
				"ink",
				"soft",
				"ego",
				"red",
				"yellow",
				"green"
			].map((e) => [e, t(e)])),
			kinds: [
				0,
				1,
				2,
				3
			].map((e) => t(`kind-${e}`))
		};
	});
	H(() => {
		if (!W(p)) return;
		let e = W(p), t = new ResizeObserver(() => L(g, {
			wide: e.clientWidth,
			high: e.clientHeight
		}));
		return t.observe(e), () => t.disconnect();
	}), H(() => {
		if (!W(p) || !W(de) || !W(r) || !W(se).wide || !W(se).high) return;
		let e = Math.min(3, devicePixelRatio || 1), [t, n] = [Math.round(W(se).wide * e), Math.round(W(se).high * e)];
		(W(p).width !== t || W(p).height !== n) && Object.assign(W(p), {
			width: t,
			height: n
		});
		let i = W(p).getContext("2d");
		i && (i.setTransform(e, 0, 0, e, 0, 0), Fh(i, W(se), W(r), W(a), W(de), W(re), W(f)));
	});
	let D = (e) => $.look({ metres: Math.min(320, Math.max(15, W(y).metres * e)) }), fe = () => $.look({ up: W(y).up === "ego" ? "north" : "ego" }), O = (e) => {
		let t = e === null ? null : W(r)?.agents[e]?.track ?? null;
		$.look({ track: t === W(y).track ? null : t });
	};
	function pe(e) {
		if (!W(ne).length) return;
		let t = W(re) === null ? e > 0 ? -1 : 0 : W(ne).indexOf(W(re));
		$.look({ track: W(r).agents[W(ne)[(t + e + W(ne).length) % W(ne).length]].track });
	}
	let me = {
		"+": () => D(.8),
		"=": () => D(.8),
		"-": () => D(1.25),
		u: fe,
		n: () => pe(1),
		p: () => pe(-1),
		Escape: () => W(y).track === null ? $.show("rows") : $.look({ track: null })
	};
	function he(e) {
		let t = W(p).getBoundingClientRect();
		L(f, Dh(W(se), W(r)?.agents ?? [], e.clientX - t.left, e.clientY - t.top), !0);
	}
	H(() => {
		if (!W(p)) return;
		let e = W(p), t = (e) => {
			e.preventDefault(), D(Math.exp(Math.max(-.5, Math.min(.5, e.deltaY / 400))));
		};
		return e.addEventListener("wheel", t, { passive: !1 }), () => e.removeEventListener("wheel", t);
	}), H(() => () => {
		((e) => {
			var t = m(e, 2);
			L(l, t[0], !0), C = t[1];
		})([!1, ""]);
		for (let e of x.values()) e.stop.abort();
		w.abort();
	});
	let ge = (e) => e === null ? null : e * 180 / Math.PI, _e = (e) => e && e[0] !== null && e[1] !== null ? Math.hypot(e[0], e[1]) : null, k = (e, t = 2) => e === null || !Number.isFinite(e) ? "—" : Qs(Number(e.toFixed(t))), ve = ([, e, t]) => ac(/^(timestamp|duration)/.test(t) ? BigInt(e) : e, t), A = P(() => {
		let e = W(r)?.around;
		if (!e?.there) return null;
		let [t, n] = [e.there.slice(0, e.before), e.there.slice(e.before + 1)];
		return {
			past: t.filter(Boolean).length,
			future: n.filter(Boolean).length,
			before: e.before,
			after: e.after
		};
	}), ye = (e) => e.state === "active", be = P(() => (W(r)?.lights ?? []).toSorted((e, t) => Number(ye(t)) - Number(ye(e))));
	var Se = mg(), Ce = z(Se);
	Vm(Ce, {
		get sequence() {
			return W(s);
		},
		get isKnown() {
			return W(c);
		},
		get took() {
			return W(u);
		},
		get keys() {
			return me;
		},
		get playing() {
			return W(l);
		},
		set playing(e) {
			L(l, e, !0);
		}
	});
	var we = V(Ce, 2), Te = (e) => {
		var t = qh(), n = B(t, !0);
		U(() => J(n, W(i))), q(e, t);
	};
	Y(we, (e) => {
		W(i) && e(Te);
	});
	var Ee = V(we, 2), De = R(Ee), M = R(De), N = R(M);
	let Oe;
	Ci(N, (e) => L(p, e), () => W(p));
	var ke = V(N, 2);
	Ci(ke, (e) => L(h, e), () => W(h));
	var Ae = V(ke, 2), je = (e) => {
		var t = Jh(), n = B(t, !0);
		U(() => J(n, W(i) ? "This row cannot be read." : W(r) ? "The other table of this merge has no row here." : "reading …")), q(e, t);
	};
	Y(Ae, (e) => {
		W(r) && W(r).there || e(je);
	});
	var Me = V(Ae, 2), Ne = R(Me), Pe = V(Ne, 2), Fe = V(Pe, 2), Ie = V(Fe, 2);
	j(Me), j(M);
	var Le = V(M, 2);
	X(V(R(Le), 2), 17, () => W(r)?.kinds ?? [], Rr, (e, t, n) => {
		var r = Yh();
		let i;
		var a = R(r);
		Ih(a, () => n);
		var o = V(a), s = B(V(o), !0);
		j(r), U((e) => {
			i = Qr(r, 1, "", null, i, { none: !W(oe)[n] }), J(o, ` ${W(t) ?? ""} `), J(s, e);
		}, [() => Js(W(oe)[n])]), q(e, r);
	}), xe(2), j(Le);
	var Be = V(Le, 2), Ve = (e) => {
		var t = $h(), i = z(t);
		n(i, () => "ego");
		var s = V(i, 2);
		n(s, () => "around");
		var c = V(s, 2), l = (e) => {
			var t = Xh(), n = B(t);
			U((e, t) => J(n, `${W(A).past ?? ""} of ${e ?? ""} before and ${W(A).future ?? ""} of ${t ?? ""} after are there.`), [() => Ys(W(A).before, "row"), () => Ys(W(A).after, "row")]), q(e, t);
		};
		Y(c, (e) => {
			W(A) && (W(A).past < W(A).before || W(A).future < W(A).after) && e(l);
		});
		var u = V(c, 2), d = (e) => {
			q(e, Zh());
		};
		Y(u, (e) => {
			W(r).around?.cut && e(d);
		});
		var f = V(u, 2), p = (e) => {
			q(e, Qh());
		};
		Y(f, (e) => {
			W(a)?.cut && e(p);
		});
		var m = V(f, 2), h = (e) => {
			var t = Xh(), n = B(t, !0);
			U(() => J(n, W(r).hint)), q(e, t);
		};
		Y(m, (e) => {
			W(r).hint && !W(r).failures.map && e(h);
		});
		var g = V(m, 2);
		n(g, () => "map");
		var _ = V(g, 2), v = (e) => {
			var t = Kh(), n = B(t, !0);
			U(() => J(n, W(o))), q(e, t);
		};
		Y(_, (e) => {
			W(o) && e(v);
		}), q(e, t);
	};
	Y(Be, (e) => {
		W(r) && e(Ve);
	}), j(De);
	var He = V(De, 2), Ue = R(He), We = R(Ue), Ge = B(V(R(We)), !0);
	j(We);
	var Ke = V(We, 2), qe = (e) => {
		let t = P(() => te(W(ae))), n = P(() => W(r)?.around?.tracks[W(ie)] ?? []);
		var i = ng(), a = R(i), o = B(V(R(a)), !0);
		j(a);
		var s = V(a, 2), c = V(R(s)), l = R(c), u = V(l), d = (e) => {
			var t = eg(), n = B(t);
			U((e) => J(n, `${e ?? ""} %`), [() => k(W(ae).probability * 100, 1)]), q(e, t);
		};
		Y(u, (e) => {
			W(ae).probability !== null && e(d);
		}), j(c), j(s);
		var f = V(s, 2), p = V(R(f)), m = R(p, !0);
		xe(), j(p), j(f);
		var h = V(f, 2), g = V(R(h)), _ = R(g, !0);
		xe(), j(g), j(h);
		var v = V(h, 2), y = V(R(v)), b = R(y, !0);
		xe(), j(y), j(v);
		var x = V(v, 2), S = V(R(x)), C = R(S, !0);
		xe(), j(S), j(x);
		var w = V(x, 2), ee = V(R(w)), T = R(ee);
		xe(), j(ee), j(w);
		var E = V(w, 2), ne = V(R(E)), re = R(ne, !0);
		xe(), j(ne), j(E);
		var oe = V(E, 2), se = (e) => {
			var t = tg(), r = B(V(R(t)));
			j(t), U((e, t) => J(r, `${e ?? ""} before, ${t ?? ""} after`), [() => Js(W(n).filter((e) => e[0] < 0).length), () => Js(W(n).filter((e) => e[0] > 0).length)]), q(e, t);
		};
		Y(oe, (e) => {
			W(r)?.around && e(se);
		}), j(i), U((e, t, n, r, i, a, s) => {
			J(o, W(ae).track), J(l, `${W(ae).label ?? "—" ?? ""} `), J(m, e), J(_, t), J(b, n), J(C, r), J(T, `${i ?? ""}, ${a ?? ""}`), J(re, s);
		}, [
			() => k(_e(W(ae).velocity)),
			() => W(ae).velocity ? W(ae).velocity.map((e) => k(e)).join(", ") : "—",
			() => k(ge(W(ae).yaw), 1),
			() => W(ae).extent.map((e) => k(e)).join(" × "),
			() => k(W(ae).x),
			() => k(W(ae).y),
			() => k(W(t), 1)
		]), q(e, i);
	}, Je = (e) => {
		var t = rg(), n = B(t);
		U(() => J(n, `Track ${W(y).track ?? ""} is not in this row.`)), q(e, t);
	}, Ye = (e) => {
		q(e, ig());
	};
	Y(Ke, (e) => {
		W(ae) ? e(qe) : W(y).track === null ? e(Ye, -1) : e(Je, 1);
	});
	var Xe = V(Ke, 2);
	n(Xe, () => "velocity"), n(V(Xe, 2), () => "labels"), j(Ue);
	var Ze = V(Ue, 2), Qe = R(Ze), $e = B(V(R(Qe)), !0);
	j(Qe);
	var et = V(Qe, 2);
	n(et, () => "agents");
	var tt = V(et, 2), nt = (e) => {
		var t = rg(), n = B(t);
		U((e, t) => J(n, `The first ${e ?? ""} of ${t ?? ""}.`), [() => Js(W(r).agents.length), () => Js(W(r).agent_count)]), q(e, t);
	};
	Y(tt, (e) => {
		W(r) && W(r).agents.length < W(r).agent_count && e(nt);
	});
	var rt = V(tt, 2), it = (e) => {
		var t = og();
		X(t, 20, () => W(ne), (e) => e, (e, t) => {
			let n = P(() => W(r).agents[t]);
			var i = ag(), a = R(i), o = R(a);
			Ih(o, () => W(n).kind);
			var s = V(o), c = R(s), l = B(V(c), !0);
			j(s);
			var u = B(V(s));
			j(a), j(i), U((e) => {
				Z(a, "aria-pressed", t === W(re)), J(c, `${W(n).label ?? "agent" ?? ""} `), J(l, W(n).track), J(u, `${e ?? ""} m`);
			}, [() => k(te(W(n)), 1)]), mr("pointerenter", a, () => L(f, t, !0)), mr("pointerleave", a, () => L(f, null)), G("click", a, () => O(t)), q(e, i);
		}), j(t), q(e, t);
	}, at = (e) => {
		q(e, sg());
	};
	Y(rt, (e) => {
		W(ne).length ? e(it) : W(r) && !W(r).failures.agents && e(at, 1);
	}), j(Ze);
	var ot = V(Ze, 2), st = R(ot), ct = B(V(R(st)), !0);
	j(st);
	var lt = V(st, 2);
	n(lt, () => "lights");
	var ut = V(lt, 2), dt = (e) => {
		var t = lg(), n = z(t);
		X(n, 21, () => W(be), Rr, (e, t) => {
			var n = cg(), r = R(n);
			Lh(r, () => W(t));
			var i = V(r), a = R(i), o = B(V(a), !0);
			j(i);
			var s = B(V(i), !0);
			j(n), U((e) => {
				J(a, `${W(t).state ?? ""}${W(t).colour ? `, ${W(t).colour}` : ""} `), J(o, W(t).face), J(s, e);
			}, [() => W(t).probabilities.map((e) => k(e)).join(" · ")]), q(e, n);
		}), j(n);
		var r = B(V(n, 2));
		U((e) => J(r, `Probabilities of active, inactive and unknown.${e ?? ""}`), [() => W(be).some((e) => e.colour) ? "" : " The map has the colours."]), q(e, t);
	}, ft = (e) => {
		q(e, sg());
	};
	Y(ut, (e) => {
		W(be).length ? e(dt) : W(r) && !W(r).failures.lights && e(ft, 1);
	}), j(ot);
	var pt = V(ot, 2), mt = R(pt), F = B(V(R(mt)), !0);
	j(mt);
	var ht = V(mt, 2), gt = (e) => {
		var t = pg(), n = R(t);
		X(n, 17, () => W(r).facts, Rr, (e, t) => {
			var n = ug(), r = R(n), i = B(r, !0), a = B(V(r), !0);
			j(n), U((e) => {
				J(i, W(t)[0]), J(a, e);
			}, [() => ve(W(t))]), q(e, n);
		});
		var i = V(n, 2), a = (e) => {
			var t = dg(), n = z(t), i = V(R(n)), a = R(i, !0);
			xe(), j(i), j(n);
			var o = V(n, 2), s = V(R(o)), c = R(s, !0);
			xe(), j(s), j(o), U((e, t) => {
				J(a, e), J(c, t);
			}, [() => [
				W(r).ego.x,
				W(r).ego.y,
				W(r).ego.z
			].map((e) => k(e)).join(", "), () => k(ge(W(r).ego.yaw), 1)]), q(e, t);
		};
		Y(i, (e) => {
			W(r).ego && e(a);
		});
		var o = V(i, 2), s = B(V(R(o)));
		j(o);
		var c = V(o, 2), l = V(R(c), 2), u = R(l);
		X(u, 21, () => [...new Set([
			0,
			10,
			30,
			50,
			100,
			W(y).around
		])].sort((e, t) => e - t), Rr, (e, t) => {
			var n = fg(), r = B(n, !0), i = {};
			U(() => {
				J(r, W(t)), i !== (i = W(t)) && (n.value = (n.__value = i) ?? "");
			}), q(e, n);
		}), j(u);
		var d;
		ii(u), j(l), j(c), j(t), U((e, t, n) => {
			J(s, `${e ?? ""}, ${t ?? ""}, ${n ?? ""} ms`), d !== (d = W(y).around) && (u.value = (u.__value = d) ?? "", ri(u, d));
		}, [
			() => Ys(W(r).read.requests, "request"),
			() => Xs(W(r).read.bytes),
			() => W(r).read.ms.toFixed(1)
		]), G("change", u, (e) => $.look({ around: Number(e.currentTarget.value) })), q(e, t);
	};
	Y(ht, (e) => {
		W(r) && e(gt);
	}), j(pt), j(He), j(Ee), xe(2), U((e, t, n) => {
		Z(De, "aria-busy", !W(r) && !W(i)), Z(N, "aria-label", W(ce)), Oe = Qr(N, 1, "", null, Oe, { pointing: W(f) !== null }), Ne.disabled = W(y).metres <= 15, Pe.disabled = W(y).metres >= 320, Z(Fe, "aria-pressed", W(y).up === "ego"), Z(Ie, "aria-pressed", W(y).up === "north"), J(Ge, W(ae) ? W(ie) === W(re) ? "chosen" : "under the pointer" : ""), J($e, e), J(ct, t), J(F, n);
	}, [
		() => W(r) ? Ys(W(r).agent_count, "agent") : "",
		() => W(r) ? Ys(W(r).light_count, "face") : "",
		() => Js(W(v))
	]), G("pointermove", N, he), mr("pointerleave", N, () => L(f, null)), G("click", N, () => O(W(f))), G("click", Ne, () => D(.8)), G("click", Pe, () => D(1.25)), G("click", Fe, () => $.look({ up: "ego" })), G("click", Ie, () => $.look({ up: "north" })), q(e, Se), ze();
}
hr([
	"pointermove",
	"click",
	"change"
]);
// src/Storage.svelte
var gg = K("<option> </option>"), _g = K("<select aria-label=\"Table that holds the rows\"></select>"), vg = K("<p class=\"failure\" role=\"alert\"> </p>"), yg = wr("<path></path>"), bg = wr("<path class=\"lit\"></path>"), xg = wr("<path class=\"seam\"></path>"), Sg = wr("<path class=\"here\"></path>"), Cg = K("<div class=\"band\"><p class=\"label\"><span> </span><span> </span></p> <svg role=\"img\"><!><!><!><!></svg></div>"), wg = K("<p class=\"absent tall\" role=\"status\">reading …</p>"), Tg = K("<b> </b> ", 1), Eg = K("<li><i></i><i></i> </li>"), Dg = K("<li><i class=\"lit\"></i> taken by the read</li>"), Og = K("<li><i class=\"seam\"></i> a partition begins</li>"), kg = K("<li> </li>"), Ag = K("<p class=\"over\"><!></p> <ul class=\"legend\" aria-label=\"Legend\"><!> <!> <!> <!></ul>", 1), jg = K("<p class=\"figures\"><b> </b> <b> </b> <b> </b></p> <p class=\"soft\">What the page asked the store for; what was cached is not among it.</p>", 1), Mg = K("<th scope=\"col\">ms</th>"), Ng = K("<td> </td>"), Pg = K("<tr><th scope=\"row\"> </th><td> </td><td> </td><td> </td><!></tr>"), Fg = K("<li><span> </span> <code> </code> <span> </span></li>"), Ig = K("<details><summary> </summary> <ul class=\"ranges\"></ul></details>"), Lg = K("<section class=\"card\" aria-labelledby=\"read-card\"><h2 id=\"read-card\"> <small> </small></h2> <!> <table class=\"figures\"><caption> </caption><thead><tr><th scope=\"col\">group</th><th scope=\"col\">blocks</th><th scope=\"col\">requests</th><th scope=\"col\">bytes</th><!></tr></thead><tbody></tbody></table> <!></section>"), Rg = K("<small> </small>"), zg = K("<p class=\"damaged\"> </p>"), Bg = K("<p class=\"absent\" role=\"status\">reading …</p>"), Vg = K("<span class=\"tag\"> </span>"), Hg = K("<div class=\"added\"><i></i></div> <p class=\"label\"><span> </span><span> </span></p>", 1), Ug = K("<li><p class=\"label\"><span><b> </b> <!></span> <span> </span></p> <!></li>"), Wg = K("<ol class=\"versions\"></ol>"), Gg = K("<div class=\"sheet two\"><section class=\"card wide\" aria-labelledby=\"layout-card\"><h2 id=\"layout-card\">Layout <small> </small></h2> <div class=\"zoom\" role=\"group\" aria-label=\"Rows that are shown\"><!> <button class=\"quiet\">Closer</button> <button class=\"quiet\">Farther</button> <button class=\"quiet\" aria-label=\"To the left\">←</button> <button class=\"quiet\" aria-label=\"To the right\">→</button> <button class=\"quiet\">All rows</button> <button class=\"quiet\">The read</button></div> <!> <div class=\"bands\"><!></div> <!></section> <!> <section class=\"card\" aria-labelledby=\"versions-card\"><h2 id=\"versions-card\">Versions <!></h2> <!></section></div> <p class=\"keys\"><kbd>←</kbd> <kbd>→</kbd> along · <kbd>+</kbd> <kbd>−</kbd> closer, farther · <kbd>Home</kbd> all rows · <kbd>l</kbd> the read · <kbd>Esc</kbd> rows</p>", 1);
function Kg(e, t) {
	Re(t, !0);
	let n = I(null), r = I(""), i = I(null), a = I(""), o = I(0), s = I(0), c = I(null), l = P(() => $.info), u = P(() => W(n)?.layout ?? null), d = P(() => Math.min($.row, Math.max(0, W(l).rows - 1))), f = P(() => !W(l).view && !W(l).selection), p = P(() => $.last?.table === $.table && $.last.row === W(d) ? $.last : null), h = P(() => $.shown), g = P(() => Math.min(1e3, Math.max(60, Math.round(W(s) / 2))));
	H(() => {
		if (!W(s)) return;
		let e = new AbortController(), t = [
			["table", $.table],
			["holder", W(o)],
			["cells", W(g)]
		];
		return W(h) && t.push(["start", W(h)[0]], ["end", W(h)[1]]), W(l).rows && W(l).groups.length && (t.push(["row", W(d)]), W(p)?.window.length && t.push(["before", W(p).around], ["after", W(p).around], ...W(p).window.map((e) => ["window", e]))), Hs("layout", t, e.signal).then((e) => ((e) => {
			var t = m(e, 2);
			return L(n, t[0]), L(r, t[1], !0), e;
		})([e, ""]), (t) => {
			e.signal.aborted || ($.shown && t instanceof Bs && t.kind === "Invalid" ? x(null) : L(r, t.message, !0));
		}), () => e.abort();
	}), H(() => {
		let e = new AbortController();
		return Hs("versions", [["table", $.table]], e.signal).then((e) => L(i, e), (t) => e.signal.aborted || L(a, t.message, !0)), () => e.abort();
	});
	let _ = P(() => W(u)?.start ?? 0), v = P(() => W(u)?.end ?? 0), y = P(() => W(s) / Math.max(1, W(v) - W(_))), b = (e) => (e - W(_)) * W(y);
	function x(e) {
		let t = W(u)?.rows ?? W(l).rows;
		if (e) {
			let n = Math.min(t, Math.max(8, Math.round(e[1] - e[0]))), r = Math.min(Math.max(0, Math.round(e[0])), t - n);
			e = n >= t ? null : [r, r + n];
		}
		$.shown = e, L(c, null), $.write(!1);
	}
	let S = (e, t = (W(_) + W(v)) / 2) => x([t - (t - W(_)) * e, t + (W(v) - t) * e]), C = (e) => x([W(_) + (W(v) - W(_)) * e, W(v) + (W(v) - W(_)) * e]);
	function w() {
		let e = W(u)?.groups.flatMap((e) => e.lit) ?? [], t = W(p)?.around ?? 0, n = W(f) ? e.filter(([e, n]) => e <= W(d) + t && n > W(d) - t) : e, [r, i] = n.length ? [Math.min(...n.map((e) => e[0])), Math.max(...n.map((e) => e[1]))] : [W(d), W(d) + 1], a = Math.max(8, (i - r) * 1.6);
		x([(r + i - a) / 2, (r + i + a) / 2]);
	}
	let ee = {
		ArrowLeft: () => C(-.25),
		ArrowRight: () => C(.25),
		"+": () => S(.5),
		"=": () => S(.5),
		"-": () => S(2),
		Home: () => x(null),
		l: w,
		Escape: () => $.show("rows")
	};
	function T(e) {
		if (e.altKey || e.ctrlKey || e.metaKey || e.target.matches("input, select, textarea, summary")) return;
		let t = ee[e.key];
		t && W(u) && (e.preventDefault(), t());
	}
	function E(e) {
		let t = e.spans.reduce((e, t) => Math.max(e, t[2] / (t[1] - t[0])), 1e-9), n = new Map();
		for (let [r, i, a, , o, , s] of e.spans) {
			let e = `${s}/${o % 2}`;
			n.has(e) || n.set(e, {
				owner: s,
				shade: o % 2,
				d: ""
			});
			let c = (i - r) * W(y), l = Math.max(4, a / (i - r) / t * 46);
			n.get(e).d += te(b(r), 46 - l, c > 3 ? c - .8 : c, l);
		}
		return [...n.values()];
	}
	let te = (e, t, n, r) => `M${e.toFixed(1)} ${t.toFixed(1)}h${Math.max(.5, n).toFixed(1)}v${r.toFixed(1)}h${(-Math.max(.5, n)).toFixed(1)}z`, ne = (e) => e.lit.map(([e, t]) => te(b(e), 0, Math.max(3, (t - e) * W(y) - .8), 46)).join(""), re = (e, t, n) => e.map((e) => `M${b(e).toFixed(1)} ${t}V${n}`).join("");
	function ie(e, t) {
		let n = W(_) + (e.clientX - e.currentTarget.getBoundingClientRect().left) / W(y), r = t.spans.find((e) => n >= e[0] && n < e[1]);
		L(c, r ? {
			band: t,
			span: r,
			x: n
		} : null, !0);
	}
	function ae(e) {
		if (!e) return "this table";
		let t = W(u)?.owners[e - 1];
		return t ? `${t.url ?? "another table"}@${t.version}` : "another table";
	}
	let oe = P(() => [...new Set((W(u)?.groups ?? []).flatMap((e) => e.spans.map((e) => e[6])))].sort((e, t) => e - t)), se = (e, t) => t - e === 1 ? `row ${Js(e)}` : `rows ${Js(e)} to ${Js(t - 1)}`, ce = (e) => `${e.name}: ${Ys(e.blocks, "block")} in ${Ys(e.chunks, "chunk")}, ${Xs(e.stored)} in all${e.lit.length ? `; ${Ys(e.lit.length, "block")} of the read` : ""}`, le = P(() => {
		let e = new Map();
		for (let t of W(n)?.read?.groups ?? []) {
			let n = e.get(t.name);
			e.set(t.name, n ? {
				...t,
				blocks: n.blocks + t.blocks,
				requests: n.requests + t.requests,
				bytes: n.bytes + t.bytes,
				payload: n.payload + t.payload,
				ranges: n.ranges + t.ranges
			} : t);
		}
		return [...e.values()];
	}), ue = P(() => {
		let e = Object.values(W(p)?.groups ?? {}), t = (t) => e.reduce((e, n) => e + n[t], 0);
		return e.length ? {
			requests: t("requests"),
			bytes: t("bytes"),
			ms: t("ms")
		} : null;
	}), de = P(() => Math.max(1, ...(W(i)?.versions ?? []).map((e) => e.bytes_added ?? 0)));
	var D = Gg();
	mr("keydown", qt, T);
	var fe = z(D), O = R(fe), pe = R(O), me = B(V(R(pe)), !0);
	j(pe);
	var he = V(pe, 2), ge = R(he), _e = (e) => {
		var t = _g();
		X(t, 21, () => W(n).holders, Rr, (e, t, n) => {
			var r = gg(), i = B(r);
			r.value = r.__value = n, U(() => J(i, `${W(t).url ?? ""}@${W(t).version ?? ""}`)), q(e, r);
		}), j(t);
		var r;
		ii(t), U(() => {
			r !== (r = W(o)) && (t.value = (t.__value = r) ?? "", ri(t, r));
		}), G("change", t, (e) => {
			L(o, Number(e.currentTarget.value), !0), x(null);
		}), q(e, t);
	};
	Y(ge, (e) => {
		W(n) && W(n).holders.length > 1 && e(_e);
	});
	var k = V(ge, 2), ve = V(k, 2), A = V(ve, 2), ye = V(A, 2), be = V(ye, 2), Se = V(be, 2);
	j(he);
	var Ce = V(he, 2), we = (e) => {
		var t = vg(), n = B(t, !0);
		U(() => J(n, W(r))), q(e, t);
	};
	Y(Ce, (e) => {
		W(r) && e(we);
	});
	var Te = V(Ce, 2), Ee = R(Te), De = (e) => {
		var t = Er();
		X(z(t), 17, () => W(u).groups, (e) => e.name, (e, t) => {
			var n = Cg(), r = R(n), i = R(r), a = B(i, !0), o = B(V(i));
			j(r);
			var l = V(r, 2);
			Z(l, "height", 46);
			var p = R(l);
			X(p, 17, () => E(W(t)), Rr, (e, t) => {
				var n = yg();
				U(() => {
					Qr(n, 0, `block owner-${W(t).owner % 7} shade-${W(t).shade ?? ""}`), Z(n, "d", W(t).d);
				}), q(e, n);
			});
			var m = V(p), h = (e) => {
				var n = bg();
				U((e) => Z(n, "d", e), [() => ne(W(t))]), q(e, n);
			};
			Y(m, (e) => {
				W(t).lit.length && e(h);
			});
			var g = V(m), y = (e) => {
				var t = xg();
				U((e) => Z(t, "d", e), [() => re(W(u).seams, 0, 46)]), q(e, t);
			};
			Y(g, (e) => {
				W(u).seams.length && e(y);
			});
			var x = V(g), C = (e) => {
				var t = Sg();
				U((e) => Z(t, "d", e), [() => `M${b(W(d) + .5).toFixed(1)} 0V46`]), q(e, t);
			};
			Y(x, (e) => {
				W(f) && W(d) >= W(_) && W(d) < W(v) && e(C);
			}), j(l), j(n), U((e, n, r, i) => {
				J(a, W(t).name), J(o, `${e ?? ""} · ${n ?? ""} · ${r ?? ""}`), Z(l, "aria-label", i), Z(l, "width", W(s));
			}, [
				() => Ys(W(t).blocks, "block"),
				() => Ys(W(t).chunks, "chunk"),
				() => Xs(W(t).stored),
				() => ce(W(t))
			]), G("pointermove", l, (e) => ie(e, W(t))), mr("pointerleave", l, () => L(c, null)), G("click", l, () => W(c) && S(.25, W(c).x)), q(e, n);
		}), q(e, t);
	}, M = (e) => {
		q(e, wg());
	};
	Y(Ee, (e) => {
		W(u) ? e(De) : W(r) || e(M, 1);
	}), j(Te);
	var N = V(Te, 2), Oe = (e) => {
		var t = Ag(), n = z(t), r = R(n), i = (e) => {
			var t = Tg(), n = z(t), r = B(n, !0), i = V(n);
			U((e, t, n, a, o) => {
				J(r, W(c).band.name), J(i, ` · ${e ?? ""} · ${t ?? ""} · ${n ?? ""} ·
          ${a ?? ""} · ${o ?? ""}`);
			}, [
				() => se(W(c).span[0], W(c).span[1]),
				() => Ys(W(c).span[3], "block"),
				() => Xs(W(c).span[2]),
				() => W(c).span[5] > 1 ? `chunks ${Js(W(c).span[4] + 1)} to ${Js(W(c).span[4] + W(c).span[5])}` : `chunk ${Js(W(c).span[4] + 1)}`,
				() => ae(W(c).span[6])
			]), q(e, t);
		}, a = (e) => {
			q(e, Tr("So many rows are drawn by segments. Blocks are drawn closer by."));
		}, o = (e) => {
			q(e, Tr("A block is as high as its bytes a row. Point at one to read its size, click to come closer."));
		}, s = (e) => {
			q(e, Tr("This table has index columns alone."));
		};
		Y(r, (e) => {
			W(c) ? e(i) : W(u).level === "segments" ? e(a, 1) : W(u).groups.length ? e(o, 2) : e(s, -1);
		}), j(n);
		var l = V(n, 2), d = R(l);
		X(d, 17, () => W(oe), Rr, (e, t) => {
			var n = Eg(), r = R(n), i = V(r), a = V(i);
			j(n), U((e) => {
				Qr(r, 1, `owner-${W(t) % 7}`), Qr(i, 1, `owner-${W(t) % 7} second`), J(a, ` chunks of ${e ?? ""}, in turn`);
			}, [() => ae(W(t))]), q(e, n);
		});
		var f = V(d, 2), p = (e) => {
			q(e, Dg());
		}, m = P(() => W(u).groups.some((e) => e.lit.length));
		Y(f, (e) => {
			W(m) && e(p);
		});
		var h = V(f, 2), g = (e) => {
			q(e, Og());
		};
		Y(h, (e) => {
			W(u).seams.length && e(g);
		});
		var _ = V(h, 2), v = (e) => {
			var t = kg(), n = B(t, !0);
			U((e) => J(n, e), [() => Ys(W(u).segments, "segment")]), q(e, t);
		};
		Y(_, (e) => {
			W(u).segments > 1 && e(v);
		}), j(l), q(e, t);
	};
	Y(N, (e) => {
		W(u) && e(Oe);
	}), j(O);
	var ke = V(O, 2), Ae = (e) => {
		var t = Lg(), r = R(t), i = R(r), a = B(V(i));
		j(r);
		var o = V(r, 2), s = (e) => {
			var t = jg(), n = z(t), r = R(n), i = B(r, !0), a = V(r, 2), o = B(a, !0), s = B(V(a, 2));
			j(n), xe(2), U((e, t, n) => {
				J(i, e), J(o, t), J(s, `${n ?? ""} ms`);
			}, [
				() => Ys(W(ue).requests, "request"),
				() => Xs(W(ue).bytes),
				() => W(ue).ms.toFixed(1)
			]), q(e, t);
		};
		Y(o, (e) => {
			W(ue) && e(s);
		});
		var c = V(o, 2), l = R(c), u = B(l), f = V(l), m = R(f), h = V(R(m), 4), g = (e) => {
			q(e, Mg());
		};
		Y(h, (e) => {
			W(ue) && e(g);
		}), j(m), j(f);
		var _ = V(f);
		X(_, 21, () => W(le), (e) => e.name, (e, t) => {
			var n = Pg(), r = R(n), i = B(r, !0), a = V(r), o = B(a, !0), s = V(a), c = B(s, !0), l = V(s), u = B(l, !0), d = V(l), f = (e) => {
				var n = Ng(), r = B(n, !0);
				U((e) => J(r, e), [() => W(p)?.groups[W(t).name]?.ms.toFixed(1) ?? ""]), q(e, n);
			};
			Y(d, (e) => {
				W(ue) && e(f);
			}), j(n), U((e, n, r) => {
				J(i, W(t).name), J(o, e), J(c, n), J(u, r);
			}, [
				() => Js(W(t).blocks),
				() => Js(W(t).requests),
				() => Xs(W(t).bytes)
			]), q(e, n);
		}), j(_), j(c);
		var v = V(c, 2), y = (e) => {
			var t = Ig(), r = R(t), i = B(r), a = V(r, 2);
			X(a, 21, () => W(n).read.places, Rr, (e, t) => {
				var n = Fg(), r = R(n), i = B(r, !0), a = V(r, 2), o = B(a, !0), s = B(V(a, 2));
				j(n), U((e, n, r, c) => {
					J(i, W(t).group), Z(a, "title", W(t).object), J(o, e), J(s, `${n ?? ""} to ${r ?? ""} · ${c ?? ""} needed`);
				}, [
					() => W(t).object.replace(/^(.{0,18}).*(.{6})$/, "$1…$2"),
					() => Js(W(t).start),
					() => Js(W(t).end),
					() => Xs(W(t).needed)
				]), q(e, n);
			}), j(a), j(t), U((e) => J(i, `${e ?? ""} of bytes${W(n).read.places.length < W(n).read.ranges ? `, of which ${W(n).read.places.length} are listed` : ""}`), [() => Ys(W(n).read.ranges, "range")]), q(e, t);
		};
		Y(v, (e) => {
			W(n).read.places.length && e(y);
		}), j(t), U((e, t, n, r, o) => {
			J(i, `${W(ue) ? "The last read" : "A read"} `), J(a, `row ${e ?? ""}${t ?? ""}`), J(u, `A first read takes ${n ?? ""} and ${r ?? ""}, in ${o ?? ""}.`);
		}, [
			() => Js(W(d)),
			() => W(p)?.window.length ? `, and ${W(p).around} rows to each side of ${Ys(W(p).window.length, "column")}` : "",
			() => Ys(W(n).read.requests, "request"),
			() => Xs(W(n).read.bytes),
			() => Ys(W(n).read.hops, "round")
		]), q(e, t);
	};
	Y(ke, (e) => {
		W(n)?.read && e(Ae);
	});
	var je = V(ke, 2), Me = R(je), Ne = V(R(Me)), Pe = (e) => {
		var t = Rg(), n = B(t);
		U((e) => J(n, `${e ?? ""}${W(i).has_older ? ", and older ones" : ""}`), [() => Ys(W(i).versions.length, "version")]), q(e, t);
	};
	Y(Ne, (e) => {
		W(i) && e(Pe);
	}), j(Me);
	var Fe = V(Me, 2), Ie = (e) => {
		var t = zg(), n = B(t, !0);
		U(() => J(n, W(a))), q(e, t);
	}, Le = (e) => {
		q(e, Bg());
	}, Be = (e) => {
		var t = Wg();
		X(t, 21, () => W(i).versions, (e) => e.version, (e, t) => {
			var n = Ug(), r = R(n), i = R(r), a = R(i), o = B(a, !0), s = V(a);
			X(V(s), 17, () => W(t).tags, Rr, (e, t) => {
				var n = Vg(), r = B(n, !0);
				U(() => J(r, W(t))), q(e, n);
			}), j(i);
			var c = B(V(i, 2), !0);
			j(r);
			var u = V(r, 2), d = (e) => {
				var n = zg(), r = B(n, !0);
				U(() => J(r, W(t).damage)), q(e, n);
			}, f = (e) => {
				var n = Hg(), r = z(n), i = R(r);
				let a;
				j(r);
				var o = V(r, 2), s = R(o), c = B(s, !0), l = B(V(s), !0);
				j(o), U((e, t, n) => {
					a = ei(i, "", a, { width: e }), J(c, t), J(l, n);
				}, [
					() => `${W(t).bytes_added ? Math.max(.5, 100 * W(t).bytes_added / W(de)) : 0}%`,
					() => W(t).bytes_added === null ? "" : `${Xs(W(t).bytes_added)} added`,
					() => Ys(W(t).rows, "row")
				]), q(e, n);
			};
			Y(u, (e) => {
				W(t).damage ? e(d) : e(f, -1);
			}), j(n), U((e) => {
				Z(n, "aria-current", W(t).version === W(l).version ? "true" : void 0), J(o, W(t).version), J(s, ` ${W(t).operation ?? "" ?? ""} `), J(c, e);
			}, [() => Zs(W(t).written_ms)]), q(e, n);
		}), j(t), q(e, t);
	};
	Y(Fe, (e) => {
		W(a) ? e(Ie) : W(i) ? e(Be, -1) : e(Le, 1);
	}), j(je), j(fe), xe(2), U((e) => {
		J(me, e), k.disabled = !W(u) || W(v) - W(_) <= 8, ve.disabled = !W(h), A.disabled = !W(h) || W(_) === 0, ye.disabled = !W(h) || W(v) >= (W(u)?.rows ?? 0), be.disabled = !W(h), Se.disabled = !W(n)?.read;
	}, [() => W(u) ? `${se(W(_), W(v))} of ${Js(W(u).rows)}` : ""]), G("click", k, () => S(.5)), G("click", ve, () => S(2)), G("click", A, () => C(-.25)), G("click", ye, () => C(.25)), G("click", be, () => x(null)), G("click", Se, w), xi(Te, "clientWidth", (e) => L(s, e)), q(e, D), ze();
}
hr([
	"change",
	"click",
	"pointermove"
]);
// src/Table.svelte
var qg = K("<pre tabindex=\"0\"> </pre>"), Jg = K("<div><dt> </dt> <dd><!></dd></div>"), Yg = K("<dl class=\"pairs\"></dl>"), Xg = K("<tr><th scope=\"row\"> </th><td><code> </code></td><td> </td><td> </td><td class=\"soft\"> </td></tr>"), Zg = K("<tbody><tr class=\"group\"><th colspan=\"5\" scope=\"rowgroup\"> <small> </small></th></tr><!></tbody>"), Qg = K("<p class=\"failure\" role=\"alert\"> </p>"), $g = K("<div><dt>stored</dt><dd> </dd></div>"), e_ = K("<div><span class=\"tag\"> </span> <small> </small></div>"), t_ = K("<p class=\"soft\">none</p>"), n_ = K("<div><dt> </dt><dd> </dd></div>"), r_ = K("<h3>Attachments</h3> <dl class=\"pairs\"></dl>", 1), i_ = K("<p class=\"damaged\"> </p>"), a_ = K("<li><code> </code><small> </small></li>"), o_ = K("<ul class=\"tables\"></ul>"), s_ = K("<li><code> </code></li>"), c_ = K("<p class=\"soft\"> </p> <ul class=\"tables\"></ul>", 1), l_ = K("<p class=\"soft\">No other table: it holds its rows itself.</p>"), u_ = K("<p class=\"absent\" role=\"status\">reading …</p>"), d_ = K("<span class=\"damaged\"> </span>"), f_ = K("<code> </code> <small> </small>", 1), p_ = K("<li><!></li>"), m_ = K("<p class=\"soft\"> </p>"), h_ = K("<ul class=\"tables\"></ul> <!>", 1), g_ = K("<p class=\"soft\">No view, and no other table.</p>"), __ = K("<div class=\"sheet beside\"><div class=\"stack\"><section class=\"card\" aria-labelledby=\"about-card\"><h2 id=\"about-card\"> </h2> <dl class=\"pairs\"><div><dt>address</dt><dd> </dd></div> <div><dt>version</dt><dd> </dd></div> <div><dt>id</dt><dd><code> </code></dd></div> <div><dt>rows</dt><dd> </dd></div> <div><dt>sequences</dt><dd> </dd></div> <div><dt>segments</dt><dd> </dd></div> <!> <div><dt>preset</dt><dd> </dd></div> <div><dt>tags</dt><dd></dd></div></dl></section> <section class=\"card\" aria-labelledby=\"properties-card\"><h2 id=\"properties-card\">Properties</h2> <!> <!></section> <section class=\"card\" aria-labelledby=\"lineage-card\"><h2 id=\"lineage-card\">Lineage</h2> <!></section> <section class=\"card\" aria-labelledby=\"stands-card\"><h2 id=\"stands-card\">Stands on <small> </small></h2> <!> <!></section> <section class=\"card\" aria-labelledby=\"users-card\"><h2 id=\"users-card\">Used by <small> </small></h2> <!></section></div> <section class=\"card\" aria-labelledby=\"schema-card\"><h2 id=\"schema-card\">Schema <small> </small></h2> <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Schema\"><table class=\"schema\"><thead><tr><th scope=\"col\">column</th><th scope=\"col\">type</th><th scope=\"col\">shape</th><th scope=\"col\">unit</th><th scope=\"col\">more</th></tr></thead><!><!></table></div></section></div>"), v_ = K("<p class=\"notice\" role=\"status\">reading …</p>"), y_ = K("<!> <!>", 1);
function b_(e, t) {
	Re(t, !0);
	let n = (e, t = d) => {
		var n = Yg();
		X(n, 21, t, Rr, (e, t) => {
			var n = P(() => m(W(t), 2));
			let r = () => W(n)[0], i = () => W(n)[1];
			var a = Jg();
			let o;
			var s = R(a), c = B(s, !0), l = V(s, 2), d = R(l), h = (e) => {
				var t = qg(), n = B(t, !0);
				U((e) => {
					Z(t, "aria-label", r()), J(n, e);
				}, [() => p(i())]), q(e, t);
			}, g = P(() => f(i())), _ = (e) => {
				var t = Tr();
				U((e) => J(t, e), [() => u(i())]), q(e, t);
			};
			Y(d, (e) => {
				W(g) ? e(h) : e(_, -1);
			}), j(l), j(a), U((e) => {
				o = Qr(a, 1, "", null, o, { block: e }), J(c, r());
			}, [() => f(i())]), q(e, a);
		}), j(n), q(e, n);
	}, r = (e, t = d, n = d, r = d) => {
		var a = Zg(), o = R(a), s = R(o), c = R(s), u = B(V(c), !0);
		j(s), j(o), X(V(o), 17, () => r().map(l), (e) => e.column.name, (e, t) => {
			var n = Xg(), r = R(n), a = B(r, !0), o = V(r), s = B(R(o), !0);
			j(o);
			var c = V(o), l = B(c, !0), u = V(c), d = B(u, !0), f = B(V(u));
			j(n), U((e, n) => {
				J(a, W(t).column.name), J(s, W(t).element), J(l, W(t).shape), J(d, W(t).unit), J(f, `${W(t).others ?? ""}${e ?? ""}${n ?? ""}`);
			}, [() => W(i)?.sequence_by.includes(W(t).column.name) ? " one sequence for each value" : "", () => W(i)?.order_by.includes(W(t).column.name) ? " orders each sequence" : ""]), q(e, n);
		}), j(a), U(() => {
			J(c, `${t() ?? ""} `), J(u, n());
		}), q(e, a);
	}, i = I(null), a = I(""), o = I(null), s = I(""), c = P(() => $.info);
	H(() => {
		let e = new AbortController(), t = [["table", $.table]];
		return Hs("about", t, e.signal).then((e) => L(i, e), (t) => e.signal.aborted || L(a, t.message, !0)), Hs("users", t, e.signal).then((e) => L(o, e), (t) => e.signal.aborted || L(s, t.message, !0)), () => e.abort();
	});
	function l(e) {
		let t = e.properties.find(([e]) => e === "unit") ?? e.properties.find(([e]) => e === "units"), n = e.properties.filter((e) => e !== t).map(([e, t]) => `${e}: ${u(t)}`), r = /^(timestamp|duration)/.test(e.type) ? null : /^([a-z0-9]+)\[([\d,?]*)\]$/.exec(e.type);
		return {
			column: e,
			element: r ? r[1] : e.type,
			shape: r ? r[2].split(",").join(" × ") || "one" : "",
			unit: t ? u(t[1]) : "",
			others: n.join(", ")
		};
	}
	let u = (e) => typeof e == "string" ? e : JSON.stringify(e), f = (e) => typeof e == "object" && !!e || String(e).length > 60, p = (e) => typeof e == "string" ? e : JSON.stringify(e, null, 2), h = P(() => {
		let e = W(i)?.lineage;
		return e == null ? [] : typeof e == "object" && !Array.isArray(e) ? Object.entries(e) : [["lineage", e]];
	}), g = {
		exists: "exists",
		gone: "gone",
		not_there: "not there",
		unknown: "unknown"
	};
	function _(e) {
		e.key !== "Escape" || e.target.matches("input, select, textarea") || (e.preventDefault(), $.show("rows"));
	}
	var v = y_();
	mr("keydown", qt, _);
	var y = z(v), b = (e) => {
		var t = Qg(), n = B(t, !0);
		U(() => J(n, W(a))), q(e, t);
	};
	Y(y, (e) => {
		W(a) && e(b);
	});
	var x = V(y, 2), S = (e) => {
		let t = P(() => W(i).groups.reduce((e, t) => e + t.stored, 0));
		var a = __(), l = R(a), u = R(l), d = R(u), f = B(d, !0), p = V(d, 2), _ = R(p), v = B(V(R(_)), !0);
		j(_);
		var y = V(_, 2), b = B(V(R(y)), !0);
		j(y);
		var x = V(y, 2), S = V(R(x)), C = B(R(S), !0);
		j(S), j(x);
		var w = V(x, 2), ee = B(V(R(w)), !0);
		j(w);
		var T = V(w, 2), E = B(V(R(T)), !0);
		j(T);
		var te = V(T, 2), ne = B(V(R(te)), !0);
		j(te);
		var re = V(te, 2), ie = (e) => {
			var n = $g(), r = B(V(R(n)), !0);
			j(n), U((e) => J(r, e), [() => Xs(W(t))]), q(e, n);
		};
		Y(re, (e) => {
			W(i).groups.length && !W(i).view && e(ie);
		});
		var ae = V(re, 2), oe = B(V(R(ae)), !0);
		j(ae);
		var se = V(ae, 2), ce = V(R(se));
		X(ce, 21, () => W(i).tags, Rr, (e, t) => {
			var n = P(() => m(W(t), 2));
			let r = () => W(n)[0], i = () => W(n)[1];
			var a = e_(), o = R(a), s = B(o, !0), c = B(V(o, 2));
			j(a), U(() => {
				J(s, r()), J(c, `version ${i() ?? ""}`);
			}), q(e, a);
		}, (e) => {
			xe(), q(e, Tr("none"));
		}), j(ce), j(se), j(p), j(u);
		var le = V(u, 2), ue = V(R(le), 2), de = (e) => {
			n(e, () => W(i).properties);
		}, D = (e) => {
			q(e, t_());
		};
		Y(ue, (e) => {
			W(i).properties.length ? e(de) : e(D, -1);
		});
		var fe = V(ue, 2), O = (e) => {
			var t = r_(), n = V(z(t), 2);
			X(n, 21, () => W(i).attachments, Rr, (e, t, n, r) => {
				var i = P(() => m(W(t), 2));
				let a = () => W(i)[0], o = () => W(i)[1];
				var s = n_(), c = R(s), l = B(c, !0), u = B(V(c), !0);
				j(s), U((e) => {
					J(l, a()), J(u, e);
				}, [() => Xs(o())]), q(e, s);
			}), j(n), q(e, t);
		};
		Y(fe, (e) => {
			W(i).attachments.length && e(O);
		}), j(le);
		var pe = V(le, 2), me = V(R(pe), 2), he = (e) => {
			n(e, () => W(h));
		}, ge = (e) => {
			q(e, t_());
		};
		Y(me, (e) => {
			W(h).length ? e(he) : e(ge, -1);
		}), j(pe);
		var _e = V(pe, 2), k = R(_e), ve = B(V(R(k)), !0);
		j(k);
		var A = V(k, 2), ye = (e) => {
			var t = i_(), n = B(t, !0);
			U(() => J(n, W(i).sources_failure)), q(e, t);
		};
		Y(A, (e) => {
			W(i).sources_failure && e(ye);
		});
		var be = V(A, 2), Se = (e) => {
			var t = o_();
			X(t, 21, () => W(i).sources, Rr, (e, t) => {
				var n = a_(), r = R(n), i = B(r), a = B(V(r));
				j(n), U((e, n) => {
					J(i, `${W(t).url ?? ""}@${W(t).version ?? ""}`), J(a, `${e ?? ""}${n ?? ""}`);
				}, [() => Ys(W(t).rows, "row"), () => W(t).groups.length ? ` · ${W(t).groups.join(", ")}` : ""]), q(e, n);
			}), j(t), q(e, t);
		}, Ce = (e) => {
			var t = c_(), n = z(t), r = B(n, !0), a = V(n, 2);
			X(a, 21, () => W(i).owners, Rr, (e, t) => {
				var n = s_(), r = B(R(n));
				j(n), U(() => J(r, `${W(t).url ?? W(t).id ?? ""}@${W(t).version ?? ""}`)), q(e, n);
			}), j(a), U(() => J(r, W(i).view ? "Its rows are rows of these tables." : "It uses chunks of these tables.")), q(e, t);
		}, we = (e) => {
			q(e, l_());
		};
		Y(be, (e) => {
			W(i).sources.length ? e(Se) : W(i).owners.length ? e(Ce, 1) : e(we, -1);
		}), j(_e);
		var Te = V(_e, 2), Ee = R(Te), De = B(V(R(Ee)), !0);
		j(Ee);
		var M = V(Ee, 2), N = (e) => {
			var t = i_(), n = B(t, !0);
			U(() => J(n, W(s))), q(e, t);
		}, Oe = (e) => {
			q(e, u_());
		}, ke = (e) => {
			var t = h_(), n = z(t);
			X(n, 21, () => W(o).users, Rr, (e, t) => {
				var n = p_(), r = R(n), i = (e) => {
					var n = d_(), r = B(n, !0);
					U(() => J(r, W(t).damage)), q(e, n);
				}, a = (e) => {
					var n = f_(), r = z(n), i = B(r), a = B(V(r, 2));
					U((e) => {
						J(i, `${W(t).url ?? "a table without an address" ?? ""}${W(t).user_version ? `@${W(t).user_version}` : ""}`), J(a, `uses version ${W(t).version ?? ""} · ${g[W(t).state ?? ""] ?? W(t).state ?? ""} · since ${e ?? ""}`);
					}, [() => Zs(W(t).written_ms)]), q(e, n);
				};
				Y(r, (e) => {
					W(t).damage ? e(i) : e(a, -1);
				}), j(n), q(e, n);
			}), j(n);
			var r = V(n, 2), i = (e) => {
				var t = m_(), n = B(t);
				U((e) => J(n, `and ${e ?? ""} more`), [() => Js(W(o).count - W(o).users.length)]), q(e, t);
			};
			Y(r, (e) => {
				W(o).users.length < W(o).count && e(i);
			}), q(e, t);
		}, Ae = (e) => {
			q(e, g_());
		};
		Y(M, (e) => {
			W(s) ? e(N) : W(o) ? W(o).users.length ? e(ke, 2) : e(Ae, -1) : e(Oe, 1);
		}), j(Te), j(l);
		var je = V(l, 2), Me = R(je), Ne = B(V(R(Me)), !0);
		j(Me);
		var Pe = V(Me, 2), Fe = R(Pe), Ie = V(R(Fe));
		{
			let e = P(() => Ys(W(i).index.length, "column"));
			r(Ie, () => "index", () => W(e), () => W(i).index);
		}
		X(V(Ie), 17, () => W(i).groups, (e) => e.name, (e, t) => {
			{
				let n = P(() => W(t).stored ? `${Xs(W(t).stored)} stored, ${(W(t).logical / W(t).stored).toFixed(1)} times as much decoded` : Ys(W(t).columns.length, "column"));
				r(e, () => W(t).name, () => W(n), () => W(t).columns);
			}
		}), j(Fe), j(Pe), j(je), j(a), U((e, t, n, r, a, o) => {
			J(f, W(c).selection ? "First table of the selection" : W(i).view ? "View" : "Table"), J(v, W(i).url), J(b, W(i).version), J(C, W(i).id), J(ee, e), J(E, t), J(ne, n), J(oe, W(i).preset), J(ve, r), J(De, a), J(Ne, o);
		}, [
			() => Js(W(i).rows),
			() => Js(W(i).sequences),
			() => Js(W(i).segments),
			() => W(i).owner_count ? Ys(W(i).owner_count, "table") : "",
			() => W(o)?.count ? Ys(W(o).count, "version") : "",
			() => Ys(W(i).index.length + W(i).groups.reduce((e, t) => e + t.columns.length, 0), "column")
		]), q(e, a);
	}, C = (e) => {
		q(e, v_());
	};
	Y(x, (e) => {
		W(i) ? e(S) : W(a) || e(C, 1);
	}), q(e, v), ze();
}
// src/App.svelte
var x_ = K("<option> </option>"), S_ = K("<select aria-label=\"Table\"></select>"), C_ = K("<button class=\"tab\">Scene</button>"), w_ = K("<h1><!></h1> <p class=\"about\"><!> </p> <nav aria-label=\"Pages\"><button class=\"tab\">Rows</button> <button class=\"tab\">Row<!></button> <!> <button class=\"tab\">Storage</button> <button class=\"tab\">Table</button></nav> <!>", 1), T_ = K("<div class=\"notice\" role=\"alert\"><h1> </h1> <p> </p></div>"), E_ = K("<p class=\"notice\" role=\"status\">Opening …</p>"), D_ = K("<header class=\"top\"><a class=\"mark\" href=\"/\" aria-label=\"Tetrys, all rows\"><img src=\"/icon.svg\" alt=\"\" width=\"22\" height=\"22\"/></a> <!></header> <main><!></main> <div class=\"toast\" role=\"status\" aria-live=\"polite\"> </div>", 1);
function O_(e, t) {
	Re(t, !0);
	let n = I(null);
	$.load().catch((e) => L(n, e, !0)), H(() => {
		document.title = $.info ? `${$.info.name} · Tetrys` : "Tetrys";
	});
	var r = D_(), i = z(r), a = V(R(i), 2), o = (e) => {
		var t = w_(), n = z(t), r = R(n), i = (e) => {
			var t = S_();
			X(t, 21, () => $.tables, Rr, (e, t, n) => {
				var r = x_(), i = B(r, !0);
				r.value = r.__value = n, U(() => J(i, W(t).name)), q(e, r);
			}), j(t);
			var n;
			ii(t), U(() => {
				n !== (n = $.table) && (t.value = (t.__value = n) ?? "", ri(t, n));
			}), G("change", t, (e) => $.choose(Number(e.currentTarget.value))), q(e, t);
		}, a = (e) => {
			var t = Tr();
			U(() => J(t, $.info.name)), q(e, t);
		};
		Y(r, (e) => {
			$.tables.length > 1 ? e(i) : e(a, -1);
		}), j(n);
		var o = V(n, 2), s = R(o), c = (e) => {
			q(e, Tr("a selection of"));
		};
		Y(s, (e) => {
			$.info.selection && e(c);
		});
		var l = V(s);
		j(o);
		var u = V(o, 2), d = R(u), f = V(d, 2), p = V(R(f)), m = (e) => {
			var t = Tr();
			U((e) => J(t, ` ${e ?? ""}`), [() => Js($.row)]), q(e, t);
		};
		Y(p, (e) => {
			$.shownPage === "row" && e(m);
		}), j(f);
		var h = V(f, 2), g = (e) => {
			var t = C_();
			U(() => {
				Z(t, "aria-current", $.shownPage === "scene" ? "page" : void 0), t.disabled = !$.info.rows;
			}), G("click", t, () => $.show("scene")), q(e, t);
		};
		Y(h, (e) => {
			$.info.scene && e(g);
		});
		var _ = V(h, 2), v = V(_, 2);
		j(u), Ec(V(u, 2), {}), U((e) => {
			J(l, ` ${$.info.view ? "view, " : ""}version ${$.info.version ?? ""} · ${e ?? ""}`), Z(d, "aria-current", $.shownPage === "rows" ? "page" : void 0), Z(f, "aria-current", $.shownPage === "row" ? "page" : void 0), f.disabled = !$.info.rows, Z(_, "aria-current", $.shownPage === "storage" ? "page" : void 0), Z(v, "aria-current", $.shownPage === "table" ? "page" : void 0);
		}, [() => Ys($.info.rows, "row")]), G("click", d, () => $.show("rows")), G("click", f, () => $.show("row")), G("click", _, () => $.show("storage")), G("click", v, () => $.show("table")), q(e, t);
	};
	Y(a, (e) => {
		$.info && e(o);
	}), j(i);
	var s = V(i, 2), c = R(s), l = (e) => {
		var t = T_(), r = R(t), i = B(r, !0), a = B(V(r, 2), !0);
		j(t), U(() => {
			J(i, W(n).kind === "Refused" ? "This page has no access" : "Nothing to show"), J(a, W(n).message);
		}), q(e, t);
	}, u = (e) => {
		q(e, E_());
	}, d = (e) => {
		var t = Er();
		Lr(z(t), () => $.table, (e) => {
			Jm(e, {});
		}), q(e, t);
	}, f = (e) => {
		var t = Er();
		Lr(z(t), () => $.table, (e) => {
			hg(e, {});
		}), q(e, t);
	}, p = (e) => {
		var t = Er();
		Lr(z(t), () => $.table, (e) => {
			Kg(e, {});
		}), q(e, t);
	}, m = (e) => {
		var t = Er();
		Lr(z(t), () => $.table, (e) => {
			b_(e, {});
		}), q(e, t);
	}, h = (e) => {
		var t = Er();
		Lr(z(t), () => $.table, (e) => {
			Sh(e, {});
		}), q(e, t);
	};
	Y(c, (e) => {
		W(n) ? e(l) : $.info ? $.shownPage === "row" ? e(d, 2) : $.shownPage === "scene" ? e(f, 3) : $.shownPage === "storage" ? e(p, 4) : $.shownPage === "table" ? e(m, 5) : e(h, -1) : e(u, 1);
	}), j(s);
	var g = B(V(s, 2), !0);
	U(() => J(g, $.said)), q(e, r), ze();
}
// src/main.ts
hr(["change", "click"]), jr(O_, { target: document.getElementById("app") });
