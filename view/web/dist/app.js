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
var h = 1024, g = 2048, _ = 4096, v = 8192, y = 16384, b = 32768, x = 1 << 25, S = 65536, C = 1 << 19, w = 1 << 20, ee = 1 << 25, T = 1 << 21, E = 1 << 22, D = 1 << 23, te = Symbol("$state"), ne = Symbol("component"), O = Symbol(""), re = Symbol("attributes"), ie = Symbol("class"), ae = Symbol("style"), oe = Symbol("text"), se = Symbol("form reset"), ce = new class extends Error {
	name = "StaleReactionError";
	message = "The reaction that called `getAbortSignal()` was re-run or destroyed";
}(), le = !!globalThis.document?.contentType && globalThis.document.contentType.includes("xml"), k = {}, A = Symbol("uninitialized"), ue = "http://www.w3.org/1999/xhtml";
function de() {
	console.warn("https://svelte.dev/e/derived_inert");
}
function fe(e) {
	console.warn("https://svelte.dev/e/hydration_mismatch");
}
function pe() {
	console.warn("https://svelte.dev/e/select_multiple_invalid_value");
}
function me() {
	console.warn("https://svelte.dev/e/svelte_boundary_reset_noop");
}
// node_modules/svelte/src/internal/client/dom/hydration.js
var j = !1;
function he(e) {
	j = e;
}
var M;
function ge(e) {
	if (e === null) throw fe(), k;
	return M = e;
}
function _e() {
	return ge(Xt(M));
}
function N(e) {
	if (j) {
		if (Xt(M) !== null) throw fe(), k;
		M = e;
	}
}
function ve(e = 1) {
	if (j) {
		for (var t = e, n = M; t--;) n = Xt(n);
		M = n;
	}
}
function ye(e = !0) {
	for (var t = 0, n = M;;) {
		if (n.nodeType === 8) {
			var r = n.data;
			if (r === "]") {
				if (t === 0) return n;
				--t;
			} else (r === "[" || r === "[!" || r[0] === "[" && !isNaN(Number(r.slice(1)))) && (t += 1);
		}
		var i = Xt(n);
		e && n.remove(), n = i;
	}
}
function be(e) {
	if (!e || e.nodeType !== 8) throw fe(), k;
	return e.data;
}
// node_modules/svelte/src/internal/client/reactivity/equality.js
function xe(e) {
	return e === this.v;
}
function Se(e, t) {
	return e == e ? e !== t || typeof e == "object" && !!e || typeof e == "function" : t == t;
}
function Ce(e) {
	return !Se(e, this.v);
}
// node_modules/svelte/src/internal/client/errors.js
function we() {
	throw Error("https://svelte.dev/e/async_derived_orphan");
}
function Te(e, t, n) {
	throw Error("https://svelte.dev/e/each_key_duplicate");
}
function P(e) {
	throw Error("https://svelte.dev/e/effect_in_teardown");
}
function F() {
	throw Error("https://svelte.dev/e/effect_in_unowned_derived");
}
function Ee(e) {
	throw Error("https://svelte.dev/e/effect_orphan");
}
function De() {
	throw Error("https://svelte.dev/e/effect_update_depth_exceeded");
}
function Oe() {
	throw Error("https://svelte.dev/e/state_descriptors_fixed");
}
function ke() {
	throw Error("https://svelte.dev/e/state_prototype_fixed");
}
function Ae() {
	throw Error("https://svelte.dev/e/state_unsafe_mutation");
}
function je() {
	throw Error("https://svelte.dev/e/svelte_boundary_reset_onerror");
}
// node_modules/svelte/src/internal/client/context.js
var Me = null;
function Ne(e) {
	Me = e;
}
function Pe(e, t = !1, n) {
	Me = {
		p: Me,
		i: !1,
		c: null,
		e: null,
		s: e,
		x: null,
		r: G,
		l: null
	};
}
function Fe(e) {
	var t = Me, n = t.e;
	if (n !== null) {
		t.e = null;
		for (var r of n) dn(r);
	}
	return e !== void 0 && (t.x = e), t.i = !0, Me = t.p, Ie(e);
}
function Ie(e = {}) {
	return i(e, ne, { value: !0 }), e;
}
function Le() {
	return !0;
}
// node_modules/svelte/src/internal/client/dom/task.js
var Re = [];
function ze() {
	var e = Re;
	Re = [], f(e);
}
function Be(e) {
	if (Re.length === 0 && !mt) {
		var t = Re;
		queueMicrotask(() => {
			t === Re && ze();
		});
	}
	Re.push(e);
}
function Ve() {
	for (; Re.length > 0;) ze();
}
// node_modules/svelte/src/internal/client/reactivity/status.js
var He = ~(g | _ | h);
function Ue(e, t) {
	e.f = e.f & He | t;
}
function We(e) {
	e.f & 512 || e.deps === null ? Ue(e, h) : Ue(e, _);
}
// node_modules/svelte/src/internal/client/reactivity/utils.js
function Ge(e, t) {
	e.f & 2048 ? t.set(e, g) : e.f & 4096 && t.get(e) !== 2048 && t.set(e, _), Ue(e, h);
}
// node_modules/svelte/src/internal/client/dom/elements/misc.js
function Ke(e, t) {
	if (t) {
		let t = document.body;
		e.autofocus = !0, Be(() => {
			document.activeElement === t && e.focus();
		});
	}
}
var qe = !1;
function Je() {
	qe || (qe = !0, document.addEventListener("reset", (e) => {
		Promise.resolve().then(() => {
			if (!e.defaultPrevented) for (let t of e.target.elements) t[se]?.();
		});
	}, { capture: !0 }));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/shared.js
function Ye(e) {
	var t = W, n = G;
	Nn(null), Pn(null);
	try {
		return e();
	} finally {
		Nn(t), Pn(n);
	}
}
function Xe(e, t, n, r = n) {
	e.addEventListener(t, () => Ye(n));
	let i = e[se];
	e[se] = i ? () => {
		i(), r(!0);
	} : () => r(!0), Je();
}
// node_modules/svelte/src/internal/client/reactivity/async.js
function Ze(e, t, n, r) {
	let i = Le() ? tt : it;
	var a = e.filter((e) => !e.settled), o = t.map(i);
	if (n.length === 0 && a.length === 0) {
		r(o);
		return;
	}
	var s = G, c = Qe(), l = a.length === 1 ? a[0].promise : a.length > 1 ? Promise.all(a.map((e) => e.promise)) : null;
	function u(e) {
		if (!(s.f & 16384)) {
			c();
			try {
				r([...o, ...e]);
			} catch (e) {
				rn(e, s);
			}
			$e();
		}
	}
	var d = et();
	if (n.length === 0) {
		l.then(() => u([])).finally(d);
		return;
	}
	function f() {
		Promise.all(n.map((e) => rt(e))).then(u).catch((e) => rn(e, s)).finally(d);
	}
	l ? l.then(() => {
		s.f & 16384 ? d() : (c(), f(), $e());
	}) : f();
}
function Qe() {
	var e = G, t = W, n = Me, r = L;
	return function(i = !0) {
		Pn(e), Nn(t), Ne(n), i && !(e.f & 16384) && (r?.activate(), r?.apply());
	};
}
function $e(e = !0) {
	Pn(null), Nn(null), Ne(null), e && L?.deactivate();
}
function et() {
	var e = G, t = e.b, n = L, r = !!t?.is_rendered();
	return t?.update_pending_count(1, n), n.increment(r, e), () => {
		t?.update_pending_count(-1, n), n.decrement(r, e);
	};
}
function tt(e) {
	var t = 2 | g;
	return G !== null && (G.f |= C), {
		ctx: Me,
		deps: null,
		effects: null,
		equals: xe,
		f: t,
		fn: e,
		reactions: null,
		rv: 0,
		v: A,
		wv: 0,
		parent: G,
		ac: null
	};
}
var nt = Symbol("obsolete");
function rt(e, t, n) {
	let r = G;
	r === null && we();
	var i = void 0, a = jt(A), o = !W, s = new Set();
	return mn(() => {
		var t = G, n = p();
		i = n.promise;
		try {
			Promise.resolve(e()).then(n.resolve, (e) => {
				e !== ce && n.reject(e);
			}).finally($e);
		} catch (e) {
			n.reject(e), $e();
		}
		var c = L;
		if (o) {
			if (t.f & 32768) var l = et();
			if (r.b?.is_rendered()) c.async_deriveds.get(t)?.reject(nt);
			else for (let e of s.values()) e.reject(nt);
			s.add(n), c.async_deriveds.set(t, n);
		}
		let u = (e, t = void 0) => {
			l?.(), s.delete(n), t !== nt && (c.activate(), t ? (a.f |= D, Ft(a, t)) : (a.f & 8388608 && (a.f ^= D), Ft(a, e)), c.deactivate());
		};
		n.promise.then(u, (e) => u(null, e || "unknown"));
	}), ln(() => {
		for (let e of s) e.reject(nt);
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
function I(e) {
	let t = tt(e);
	return In(t), t;
}
function it(e) {
	let t = tt(e);
	return t.equals = Ce, t;
}
function at(e) {
	var t = e.effects;
	if (t !== null) {
		e.effects = null;
		for (var n = 0; n < t.length; n += 1) xn(t[n]);
	}
}
function ot(e) {
	var t, n = G, r = e.parent;
	if (!An && r !== null && e.v !== A && r.f & 24576) return de(), e.v;
	Pn(r);
	try {
		at(e), t = Jn(e);
	} finally {
		Pn(n);
	}
	return t;
}
function st(e) {
	var t = ot(e);
	!e.equals(t) && (e.wv = Gn(), (!L?.is_fork || e.deps === null) && (L === null ? e.v = t : (L.capture(e, t, !0), dt?.capture(e, t, !0)), e.deps === null)) ? Ue(e, h) : An || (ft === null ? We(e) : (cn() || L?.is_fork) && ft.set(e, t));
}
function ct(e) {
	if (e.effects !== null) for (let t of e.effects) (t.teardown || t.ac) && (t.teardown?.(), t.ac !== null && Ye(() => {
		t.ac.abort(ce), t.ac = null;
	}), t.fn !== null && (t.teardown = d), Zn(t, 0), yn(t));
}
function lt(e) {
	if (e.effects !== null) for (let t of e.effects) t.teardown && t.fn !== null && Qn(t);
}
// node_modules/svelte/src/internal/client/reactivity/batch.js
var ut = null, L = null, dt = null, ft = null, pt = null, mt = !1, ht = !1, gt = null, _t = null, vt = 0, yt = 1, bt = class e {
	id = yt++;
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
		ut === null ? ut = this : (ut.next = this, this.prev = ut), ut = this;
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
			for (var r of n.d) Ue(r, g), t(r);
			for (r of n.m) Ue(r, _), t(r);
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
		for (let [e, t] of this.#s) Ue(e, t), this.schedule(e);
		this.apply();
		for (var t = gt = [], n = [], r = _t = []; this.#a.length > 0;) {
			vt++ > 1e3 && (this.#b(), St());
			for (let e of this.#p()) try {
				this.#h(e, t, n);
			} catch (t) {
				throw Dt(e), this.#d() || this.discard(), t;
			}
		}
		if (L = null, r.length > 0) {
			var i = e.ensure();
			for (let e of r) i.schedule(e);
		}
		if (gt = null, _t = null, this.#d()) {
			this.#y(n), this.#y(t);
			for (let [e, t] of this.#c) Et(e, t);
			r.length > 0 && L.#m();
			return;
		}
		let a = this.#g();
		if (a) this.#y(n), this.#y(t), a.#v(this);
		else {
			this.#s.clear();
			for (let e of this.#e) e(this);
			this.#e.clear(), dt = this, wt(n), wt(t), dt = null, this.#i?.resolve();
			var o = L;
			this.#n === 0 && (this.#a.length === 0 || o !== null) && this.#b(), o !== null && (kt.clear(), o.#m());
		}
	}
	#h(e, t, n) {
		e.f ^= h;
		for (var r = e.first; r !== null;) {
			var i = r.f, a = !!(i & 96);
			if (!(a && i & 1024 || i & 8192 || this.#c.has(r)) && r.fn !== null) {
				a ? r.f ^= h : i & 4 ? t.push(r) : Kn(r) && (i & 16 && this.add_dirty_reaction(r, _), Qn(r));
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
					r & 4194320 && !this.async_deriveds.has(i) && (this.#s.delete(i), Ue(i, g), this.schedule(i));
				}
			}
		};
		for (let e of this.current.keys()) t(e);
		this.oncommit(() => e.discard()), e.#b(), L = this, this.#m();
	}
	#y(e) {
		for (var t = 0; t < e.length; t += 1) Ge(e[t], this.#s);
	}
	capture(e, t, n = !1) {
		e.v !== A && !this.previous.has(e) && this.previous.set(e, e.v), e.f & 8388608 || (this.current.set(e, [t, n]), ft?.set(e, t)), this.is_fork || (e.v = t);
	}
	activate() {
		L = this;
	}
	deactivate() {
		L = null, ft = null;
	}
	flush() {
		try {
			ht = !0, L = this, this.#m();
		} finally {
			vt = 0, pt = null, gt = null, _t = null, ht = !1, L = null, ft = null, kt.clear();
		}
	}
	discard() {
		for (let e of this.#t) e(this);
		this.#t.clear();
		for (let e of this.async_deriveds.values()) e.reject(nt);
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
		this.#u || (this.#u = !0, Be(() => {
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
		if (L === null) {
			let t = L = new e();
			!ht && !mt && Be(() => {
				t.started || t.flush();
			});
		}
		return L;
	}
	apply() {
		ft = null;
	}
	schedule(e) {
		pt = e, e.b?.is_pending && e.f & 16777228 && !(e.f & 32768) ? e.b.defer_effect(e) : this.#a.push(e);
	}
	#b() {
		if (this.linked) {
			var e = this.prev, t = this.next;
			e === null || (e.next = t), t === null ? ut = e : t.prev = e, this.linked = !1;
		}
	}
};
function xt(e) {
	var t = mt, n = dt;
	dt = null, mt = !0;
	try {
		var r;
		for (e && (xt(), r = e());;) {
			if (Ve(), L === null) return r;
			L.flush();
		}
	} finally {
		mt = t, dt = n;
	}
}
function St() {
	try {
		De();
	} catch (e) {
		rn(e, pt);
	}
}
var Ct = null;
function wt(e) {
	var t = e.length;
	if (t !== 0) {
		for (var n = 0; n < t;) {
			var r = e[n++];
			if (!(r.f & 24576) && Kn(r) && (Ct = new Set(), Qn(r), r.deps === null && r.first === null && r.nodes === null && r.teardown === null && r.ac === null && Cn(r), Ct?.size > 0)) {
				kt.clear();
				for (let e of Ct) {
					if (e.f & 24576) continue;
					let t = [e], n = e.parent;
					for (; n !== null;) Ct.has(n) && (Ct.delete(n), t.push(n)), n = n.parent;
					for (let e = t.length - 1; e >= 0; e--) {
						let n = t[e];
						n.f & 24576 || Qn(n);
					}
				}
				Ct.clear();
			}
		}
		Ct = null;
	}
}
function Tt(e) {
	L.schedule(e);
}
function Et(e, t) {
	if (!(e.f & 32 && e.f & 1024)) {
		e.f & 2048 ? t.d.push(e) : e.f & 4096 && t.m.push(e), Ue(e, h);
		for (var n = e.first; n !== null;) Et(n, t), n = n.next;
	}
}
function Dt(e) {
	Ue(e, h);
	for (var t = e.first; t !== null;) Dt(t), t = t.next;
}
// node_modules/svelte/src/internal/client/reactivity/sources.js
var Ot = new Set(), kt = new Map(), At = !1;
function jt(e, t) {
	return {
		f: 0,
		v: e,
		reactions: null,
		equals: xe,
		rv: 0,
		wv: 0
	};
}
function R(e, t) {
	let n = jt(e, t);
	return In(n), n;
}
function Mt(e, t = !1, n = !0) {
	let r = jt(e);
	return t || (r.equals = Ce), r;
}
function z(e, t, n = !1) {
	return W !== null && (!Mn || W.f & 131072) && Le() && W.f & 4325394 && (Fn === null || !Fn.has(e)) && Ae(), Ft(e, n ? Bt(t) : t, _t);
}
var Nt = null, Pt = 0;
function Ft(e, t, n = null) {
	if (!e.equals(t)) {
		An ? kt.set(e, t) : kt.has(e) || kt.set(e, e.v);
		var r = bt.ensure();
		if (r.capture(e, t), e.f & 2) {
			let t = e;
			e.f & 2048 && ot(t), ft === null && We(t);
		}
		e.wv = Gn(), Nt = null, Pt = 0, zt(e, g, n), Nt = null, Le() && G !== null && G.f & 1024 && !(G.f & 96) && (zn === null ? Bn([e]) : zn.push(e)), !r.is_fork && Ot.size > 0 && !At && It();
	}
	return t;
}
function It() {
	At = !1;
	for (let e of Ot) {
		e.f & 1024 && Ue(e, _);
		let t;
		try {
			t = Kn(e);
		} catch {
			t = !0;
		}
		t && Qn(e);
	}
	Ot.clear();
}
function Lt(e, t = 1) {
	var n = K(e), r = t === 1 ? n++ : n--;
	return z(e, n), r;
}
function Rt(e) {
	z(e, e.v + 1);
}
function zt(e, t, n) {
	var r = e.reactions;
	if (r !== null) {
		var i = Le(), a = r.length;
		if (Pt += a, Pt > 1e5 && Nt === null && (Nt = new Set()), Nt !== null) {
			if (Nt.has(e)) return;
			Nt.add(e);
		}
		for (var o = 0; o < a; o++) {
			var s = r[o], c = s.f;
			if (i || s !== G) {
				var l = (c & g) === 0;
				if (l && Ue(s, t), c & 131072) Ot.add(s);
				else if (c & 2) {
					var u = s;
					ft?.delete(u), zt(u, _, n);
				} else if (l) {
					var d = s;
					c & 16 && Ct !== null && Ct.add(d), n === null ? Tt(d) : n.push(d);
				}
			}
		}
	}
}
function Bt(t) {
	if (typeof t != "object" || !t || te in t || ne in t) return t;
	let n = l(t);
	if (n !== s && n !== c) return t;
	var r = new Map(), i = e(t), o = R(0), u = null, d = Un, f = (e) => {
		if (Un === d) return e();
		var t = W, n = Un;
		Nn(null), Wn(d);
		var r = e();
		return Nn(t), Wn(n), r;
	};
	return i && r.set("length", R(t.length, u)), new Proxy(t, {
		defineProperty(e, t, n) {
			"value" in n && n.configurable !== !1 && n.enumerable !== !1 && n.writable !== !1 || Oe();
			var i = r.get(t);
			return i === void 0 ? f(() => {
				var e = R(n.value, u);
				return r.set(t, e), e;
			}) : z(i, n.value, !0), !0;
		},
		deleteProperty(e, t) {
			var n = r.get(t);
			if (n === void 0) {
				if (t in e) {
					let e = f(() => R(A, u));
					r.set(t, e), Rt(o);
				}
			} else z(n, A), Rt(o);
			return !0;
		},
		get(e, n, i) {
			if (n === te) return t;
			var o = r.get(n), s = n in e;
			if (o === void 0 && (!s || a(e, n)?.writable) && (o = f(() => R(Bt(s ? e[n] : A), u)), r.set(n, o)), o !== void 0) {
				var c = K(o);
				return c === A ? void 0 : c;
			}
			return Reflect.get(e, n, i);
		},
		getOwnPropertyDescriptor(e, t) {
			this.has?.(e, t);
			var n = Reflect.getOwnPropertyDescriptor(e, t), i = r.get(t);
			if (i !== void 0) {
				var a = K(i);
				if (a === A) return;
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
			if (t === te) return !0;
			var n = r.get(t), i = n !== void 0 && n.v !== A || Reflect.has(e, t);
			return (n !== void 0 || (G !== null || W !== null) && (!i || a(e, t)?.writable)) && (n === void 0 && (n = f(() => R(i ? Bt(e[t]) : A, u)), r.set(t, n)), K(n) === A) ? !1 : i;
		},
		set(e, t, n, s) {
			var c = r.get(t), l = t in e;
			if (i && t === "length") for (var d = n; d < c.v; d += 1) {
				var p = r.get(d + "");
				p === void 0 ? d in e && (p = f(() => R(A, u)), r.set(d + "", p)) : z(p, A);
			}
			if (c === void 0) (!l || a(e, t)?.writable) && (c = f(() => R(void 0, u)), z(c, Bt(n)), r.set(t, c));
			else {
				l = c.v !== A;
				var m = f(() => Bt(n));
				z(c, m);
			}
			var h = Reflect.getOwnPropertyDescriptor(e, t);
			if (h?.set && h.set.call(s, n), !l) {
				if (i && typeof t == "string") {
					var g = r.get("length"), _ = Number(t);
					Number.isInteger(_) && _ >= g.v && z(g, _ + 1);
				}
				Rt(o);
			}
			return !0;
		},
		ownKeys(e) {
			K(o);
			var t = Reflect.ownKeys(e).filter((e) => {
				var t = r.get(e);
				return t === void 0 || t.v !== A;
			});
			for (var [n, i] of r) i.v !== A && !(n in e) && t.push(n);
			return t;
		},
		setPrototypeOf() {
			ke();
		}
	});
}
function Vt(e) {
	try {
		if (typeof e == "object" && e && te in e) return e[te];
	} catch {}
	return e;
}
function Ht(e, t) {
	return Object.is(Vt(e), Vt(t));
}
// node_modules/svelte/src/internal/client/dom/operations.js
var Ut, Wt, Gt, Kt;
function qt() {
	if (Ut === void 0) {
		Ut = window, Wt = /Firefox/.test(navigator.userAgent);
		var e = Element.prototype, t = Node.prototype, n = Text.prototype;
		Gt = a(t, "firstChild").get, Kt = a(t, "nextSibling").get, u(e) && (e[ie] = void 0, e[re] = null, e[ae] = void 0, e.__e = void 0), u(n) && (n[oe] = void 0);
	}
}
function Jt(e = "") {
	return document.createTextNode(e);
}
function Yt(e) {
	return Gt.call(e);
}
function Xt(e) {
	return Kt.call(e);
}
function B(e, t) {
	if (!j) return Yt(e);
	var n = Yt(M);
	if (n === null) n = M.appendChild(Jt());
	else if (t && n.nodeType !== 3) {
		var r = Jt();
		return n?.before(r), ge(r), r;
	}
	return t && tn(n), ge(n), n;
}
function Zt(e, t = !1) {
	if (!j) {
		var n = Yt(e);
		return n instanceof Comment && n.data === "" ? Xt(n) : n;
	}
	if (t) {
		if (M?.nodeType !== 3) {
			var r = Jt();
			return M?.before(r), ge(r), r;
		}
		tn(M);
	}
	return M;
}
function V(e, t = !1) {
	if (!j) return Yt(e);
	var n = B(e, t);
	return N(e), n;
}
function H(e, t = 1, n = !1) {
	let r = j ? M : e;
	for (var i; t--;) i = r, r = Xt(r);
	if (!j) return r;
	if (n) {
		if (r?.nodeType !== 3) {
			var a = Jt();
			return r === null ? i?.after(a) : r.before(a), ge(a), a;
		}
		tn(r);
	}
	return ge(r), r;
}
function Qt(e) {
	e.textContent = "";
}
function $t() {
	return !1;
}
function en(e, t, n) {
	return t == null || t === "http://www.w3.org/1999/xhtml" ? n ? document.createElement(e, { is: n }) : document.createElement(e) : n ? document.createElementNS(t, e, { is: n }) : document.createElementNS(t, e);
}
function tn(e) {
	if (e.nodeValue.length < 65536) return;
	let t = e.nextSibling;
	for (; t !== null && t.nodeType === 3;) t.remove(), e.nodeValue += t.nodeValue, t = e.nextSibling;
}
// node_modules/svelte/src/internal/client/error-handling.js
function nn(e) {
	var t = G;
	if (t === null) return W.f |= D, e;
	if (!(t.f & 32768) && !(t.f & 4)) throw e;
	rn(e, t);
}
function rn(e, t) {
	if (e === k) throw e;
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
function an(e) {
	G === null && (W === null && Ee(e), F()), An && P(e);
}
function on(e, t) {
	var n = t.last;
	n === null ? t.last = t.first = e : (n.next = e, e.prev = n, t.last = e);
}
function sn(e, t) {
	var n = G;
	n !== null && n.f & 8192 && (e |= v);
	var r = {
		ctx: Me,
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
	L?.register_created_effect(r);
	var i = r;
	if (e & 4) gt === null ? bt.ensure().schedule(r) : gt.push(r);
	else if (t !== null) {
		try {
			Qn(r);
		} catch (e) {
			throw xn(r), e;
		}
		i.deps === null && i.teardown === null && i.nodes === null && i.first === i.last && !(i.f & 524288) && (i = i.first, e & 16 && e & 65536 && i !== null && (i.f |= S));
	}
	if (i !== null && (i.parent = n, n !== null && on(i, n), W !== null && W.f & 2 && !(e & 64))) {
		var a = W;
		(a.effects ??= []).push(i);
	}
	return r;
}
function cn() {
	return W !== null && !Mn;
}
function ln(e) {
	let t = sn(8, null);
	return Ue(t, h), t.teardown = e, t;
}
function un(e) {
	an("$effect");
	var t = G.f;
	if (!W && t & 32 && Me !== null && !Me.i) {
		var n = Me;
		(n.e ??= []).push(e);
	} else return dn(e);
}
function dn(e) {
	return sn(4 | w, e);
}
function fn(e) {
	bt.ensure();
	let t = sn(64 | C, e);
	return (e = {}) => new Promise((n) => {
		e.outro ? wn(t, () => {
			xn(t), n(void 0);
		}) : (xn(t), n(void 0));
	});
}
function pn(e) {
	return sn(4, e);
}
function mn(e) {
	return sn(E | C, e);
}
function hn(e, t = 0) {
	return sn(8 | t, e);
}
function U(e, t = [], n = [], r = []) {
	Ze(r, t, n, (t) => {
		sn(8, () => {
			e(...t.map(K));
		});
	});
}
function gn(e, t = 0) {
	return sn(16 | t, e);
}
function _n(e) {
	return sn(32 | C, e);
}
function vn(e) {
	var t = e.teardown;
	if (t !== null) {
		let n = An, r = W;
		jn(!0), Nn(null);
		try {
			t.call(null);
		} catch (t) {
			rn(t, e.parent);
		} finally {
			jn(n), Nn(r);
		}
	}
}
function yn(e, t = !1) {
	var n = e.first;
	for (e.first = e.last = null; n !== null;) {
		let e = n.ac;
		e !== null && Ye(() => {
			e.abort(ce);
		});
		var r = n.next;
		n.f & 64 ? n.parent = null : xn(n, t), n = r;
	}
}
function bn(e) {
	for (var t = e.first; t !== null;) {
		var n = t.next;
		t.f & 32 || xn(t), t = n;
	}
}
function xn(e, t = !0) {
	var n = !1;
	(t || e.f & 262144) && e.nodes !== null && e.nodes.end !== null && (Sn(e.nodes.start, e.nodes.end), n = !0), e.f |= x, yn(e, t && !n), Zn(e, 0);
	var r = e.nodes && e.nodes.t;
	if (r !== null) for (let e of r) e.stop();
	vn(e), e.f ^= x, e.f |= y;
	var i = e.parent;
	i !== null && i.first !== null && Cn(e), e.next = e.prev = e.teardown = e.ctx = e.deps = e.fn = e.nodes = e.ac = e.b = null;
}
function Sn(e, t) {
	for (; e !== null;) {
		var n = e === t ? null : Xt(e);
		e.remove(), e = n;
	}
}
function Cn(e) {
	var t = e.parent, n = e.prev, r = e.next;
	n !== null && (n.next = r), r !== null && (r.prev = n), t !== null && (t.first === e && (t.first = r), t.last === e && (t.last = n));
}
function wn(e, t, n = !0) {
	var r = [];
	e.f |= 256, Tn(e, r, !0);
	var i = () => {
		n && xn(e), t && t();
	}, a = r.length;
	if (a > 0) {
		var o = () => --a || i();
		for (var s of r) s.out(o);
	} else i();
}
function Tn(e, t, n) {
	if (!(e.f & 8192)) {
		e.f ^= v;
		var r = e.nodes && e.nodes.t;
		if (r !== null) for (let e of r) (e.is_global || n) && t.push(e);
		for (var i = e.first; i !== null;) {
			var a = i.next;
			if (!(i.f & 64)) {
				var o = !!(i.f & 65536) || !!(i.f & 32) && !!(e.f & 16);
				Tn(i, t, o ? n : !1);
			}
			i = a;
		}
	}
}
function En(e) {
	e.f &= -257, Dn(e, !0);
}
function Dn(e, t) {
	if (!(e.f & 256) && e.f & 8192) {
		e.f ^= v, e.f & 1024 || (Ue(e, g), bt.ensure().schedule(e));
		for (var n = e.first; n !== null;) {
			var r = n.next, i = !!(n.f & 65536) || !!(n.f & 32);
			Dn(n, i ? t : !1), n = r;
		}
		var a = e.nodes && e.nodes.t;
		if (a !== null) for (let e of a) (e.is_global || t) && e.in();
	}
}
function On(e, t) {
	if (e.nodes) for (var n = e.nodes.start, r = e.nodes.end; n !== null;) {
		var i = n === r ? null : Xt(n);
		t.append(n), n = i;
	}
}
// node_modules/svelte/src/internal/client/legacy.js
var kn = null, An = !1;
function jn(e) {
	An = e;
}
var W = null, Mn = !1;
function Nn(e) {
	W = e;
}
var G = null;
function Pn(e) {
	G = e;
}
var Fn = null;
function In(e) {
	W !== null && (W.f & 2097152 || W.f & 2) && (Fn ??= new Set()).add(e);
}
var Ln = null, Rn = 0, zn = null;
function Bn(e) {
	zn = e;
}
var Vn = 1, Hn = 0, Un = Hn;
function Wn(e) {
	Un = e;
}
function Gn() {
	return ++Vn;
}
function Kn(e) {
	var t = e.f;
	if (t & 2048) return !0;
	if (t & 4096) {
		for (var n = e.deps, r = n.length, i = 0; i < r; i++) {
			var a = n[i];
			if (Kn(a) && st(a), a.wv > e.wv) return !0;
		}
		t & 512 && ft === null && Ue(e, h);
	}
	return !1;
}
function qn(e, t, n = !0) {
	var r = e.reactions;
	if (r !== null && !(Fn !== null && Fn.has(e))) for (var i = 0; i < r.length; i++) {
		var a = r[i];
		a.f & 2 ? qn(a, t, !1) : t === a && (n ? Ue(a, g) : a.f & 1024 && Ue(a, _), Tt(a));
	}
}
function Jn(e) {
	var t = Ln, n = Rn, r = zn, i = W, a = Fn, o = Me, s = Mn, c = Un, l = e.f;
	Ln = null, Rn = 0, zn = null, W = l & 96 ? null : e, Fn = null, Ne(e.ctx), Mn = !1, Un = ++Hn, e.ac !== null && (Ye(() => {
		e.ac.abort(ce);
	}), e.ac = null);
	try {
		e.f |= T;
		var u = (0, e.fn)();
		e.f |= b;
		var d = Yn(e);
		if (Le() && zn !== null && !Mn && d !== null && !(e.f & 6146)) for (var f = 0; f < zn.length; f++) qn(zn[f], e);
		if (i !== null && i !== e) {
			if (Hn++, i.deps !== null) for (let e = 0; e < n; e += 1) i.deps[e].rv = Hn;
			if (t !== null) for (let e of t) e.rv = Hn;
			zn !== null && (r === null ? r = zn : r.push(...zn));
		}
		return e.f & 8388608 && (e.f ^= D), u;
	} catch (t) {
		return Yn(e), nn(t);
	} finally {
		e.f ^= T, Ln = t, Rn = n, zn = r, W = i, Fn = a, Ne(o), Mn = s, Un = c;
	}
}
function Yn(e) {
	var t = e.deps, n = L?.is_fork;
	if (Ln !== null) {
		var r;
		if (n || Zn(e, Rn), t !== null && Rn > 0) for (t.length = Rn + Ln.length, r = 0; r < Ln.length; r++) t[Rn + r] = Ln[r];
		else e.deps = t = Ln;
		if (cn() && e.f & 512) for (r = Rn; r < t.length; r++) (t[r].reactions ??= []).push(e);
	} else !n && t !== null && Rn < t.length && (Zn(e, Rn), t.length = Rn);
	return t;
}
function Xn(e, r) {
	let i = r.reactions;
	if (i !== null) {
		var a = t.call(i, e);
		if (a !== -1) {
			var o = i.length - 1;
			o === 0 ? i = r.reactions = null : (i[a] = i[o], i.pop());
		}
	}
	if (i === null && r.f & 2 && (Ln === null || !n.call(Ln, r))) {
		var s = r;
		s.f & 512 && (s.f ^= 512), s.v !== A && We(s), s.ac !== null && Ye(() => {
			s.ac.abort(ce), s.ac = null, Ue(s, g);
		}), ct(s), Zn(s, 0);
	}
}
function Zn(e, t) {
	var n = e.deps;
	if (n !== null) for (var r = t; r < n.length; r++) Xn(e, n[r]);
}
function Qn(e) {
	var t = e.f;
	if (!(t & 16384)) {
		Ue(e, h);
		var n = G;
		G = e;
		try {
			t & 16777232 ? bn(e) : yn(e), vn(e);
			var r = Jn(e);
			e.teardown = typeof r == "function" ? r : null, e.wv = Vn;
		} finally {
			G = n;
		}
	}
}
async function $n() {
	await Promise.resolve(), xt();
}
function K(e) {
	var t = !!(e.f & 2);
	if (kn?.add(e), W !== null && !Mn && !(G !== null && G.f & 16384) && (Fn === null || !Fn.has(e))) {
		var r = W.deps;
		if (W.f & 2097152) e.rv < Hn && (e.rv = Hn, Ln === null && r !== null && r[Rn] === e ? Rn++ : Ln === null ? Ln = [e] : Ln.push(e));
		else {
			W.deps ??= [], n.call(W.deps, e) || W.deps.push(e);
			var i = e.reactions;
			i === null ? e.reactions = [W] : n.call(i, W) || i.push(W);
		}
	}
	if (An && kt.has(e)) return kt.get(e);
	if (t) {
		var a = e;
		if (An) {
			var o = a.v;
			return (!(a.f & 1024) && a.reactions !== null || tr(a)) && (o = ot(a)), kt.set(a, o), o;
		}
		var s = !(a.f & 512) && !Mn && W !== null && !!(W.f & 512), c = (a.f & b) === 0;
		Kn(a) && (s && (a.f |= 512), st(a)), s && !c && (lt(a), er(a));
	}
	if (ft?.has(e)) return ft.get(e);
	if (e.f & 8388608) throw e.v;
	return e.v;
}
function er(e) {
	if (e.f |= 512, e.deps !== null) for (let r of e.deps) {
		var t = r.reactions;
		t === null ? r.reactions = [e] : n.call(t, e) || t.push(e), r.f & 2 && !(r.f & 512) && (lt(r), er(r));
	}
}
function tr(e) {
	if (e.v === A) return !0;
	if (e.deps === null) return !1;
	for (let t of e.deps) if (kt.has(t) || t.f & 2 && tr(t)) return !0;
	return !1;
}
function nr(e) {
	var t = Mn;
	try {
		return Mn = !0, e();
	} finally {
		Mn = t;
	}
}
[..."allowfullscreen.async.autofocus.autoplay.checked.controls.default.disabled.formnovalidate.indeterminate.inert.ismap.loop.multiple.muted.nomodule.novalidate.open.playsinline.readonly.required.reversed.seamless.selected.webkitdirectory.defer.disablepictureinpicture.disableremoteplayback".split(".")];
var rr = ["touchstart", "touchmove"];
function ir(e) {
	return rr.includes(e);
}
// node_modules/svelte/src/internal/client/dom/elements/events.js
var ar = Symbol("events"), or = new Set(), sr = new Set();
function cr(e) {
	if (!j) return;
	e.removeAttribute("onload"), e.removeAttribute("onerror");
	let t = e.__e;
	t !== void 0 && (e.__e = void 0, queueMicrotask(() => {
		e.isConnected && e.dispatchEvent(t);
	}));
}
function lr(e, t, n, r = {}) {
	function i(e) {
		if (r.capture || hr.call(t, e), !e.cancelBubble) return Ye(() => n?.call(this, e));
	}
	return e.startsWith("pointer") || e.startsWith("touch") || e === "wheel" ? (i.__removed = !1, Be(() => {
		i.__removed || t.addEventListener(e, i, r);
	})) : t.addEventListener(e, i, r), i;
}
function ur(e, t, n, r, i) {
	var a = {
		capture: r,
		passive: i
	}, o = lr(e, t, n, a);
	(t === document.body || t === window || t === document || t instanceof HTMLMediaElement) && ln(() => {
		o.__removed = !0, t.removeEventListener(e, o, a);
	});
}
function dr(e, t, n) {
	(t[ar] ??= {})[e] = n;
}
function fr(e) {
	for (var t = 0; t < e.length; t++) or.add(e[t]);
	for (var n of sr) n(e);
}
var pr = null, mr = !1;
function hr(e) {
	var t = this, n = t.ownerDocument, r = e.type, a = e.composedPath?.() || [], o = a[0] || e.target;
	pr = e, mr || (mr = !0, setTimeout(() => {
		mr = !1, pr = null;
	}));
	var s = 0, c = pr === e && e[ar];
	if (c) {
		var l = a.indexOf(c);
		if (l !== -1 && (t === document || t === window)) {
			e[ar] = t;
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
		var d = W, f = G;
		Nn(null), Pn(null);
		try {
			for (var p, m = []; o !== null && o !== t;) {
				try {
					var h = o[ar]?.[r];
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
			e[ar] = t, delete e.currentTarget, Nn(d), Pn(f);
		}
	}
}
// node_modules/svelte/src/internal/client/dom/reconciler.js
var gr = globalThis?.window?.trustedTypes && globalThis.window.trustedTypes.createPolicy("svelte-trusted-html", { createHTML: (e) => e });
function _r(e) {
	return gr?.createHTML(e) ?? e;
}
function vr(e) {
	var t = en("template");
	return t.innerHTML = _r(e.replaceAll("<!>", "<!---->")), t.content;
}
// node_modules/svelte/src/internal/client/dom/template.js
function yr(e, t) {
	var n = G;
	n.nodes === null && (n.nodes = {
		start: e,
		end: t,
		a: null,
		t: null
	});
}
function q(e, t) {
	var n = !!(t & 1), r = !!(t & 2), i, a = !e.startsWith("<!>");
	return () => {
		if (j) return yr(M, null), M;
		i === void 0 && (i = vr(a ? e : "<!>" + e), n || (i = Yt(i)));
		var t = r || Wt ? document.importNode(i, !0) : i.cloneNode(!0);
		return n ? yr(Yt(t), t.lastChild) : yr(t, t), t;
	};
}
function br(e, t, n = "svg") {
	var r = !e.startsWith("<!>"), i = !!(t & 1), a = `<${n}>${r ? e : "<!>" + e}</${n}>`, o;
	return () => {
		if (j) return yr(M, null), M;
		if (!o) {
			var e = Yt(vr(a));
			if (i) for (o = document.createDocumentFragment(); Yt(e);) o.appendChild(Yt(e));
			else o = Yt(e);
		}
		var t = o.cloneNode(!0);
		return i ? yr(Yt(t), t.lastChild) : yr(t, t), t;
	};
}
function xr(e, t) {
	return br(e, t, "svg");
}
function Sr(e = "") {
	if (!j) {
		var t = Jt(e + "");
		return yr(t, t), t;
	}
	var n = M;
	return n.nodeType === 3 ? tn(n) : (n.before(n = Jt()), ge(n)), yr(n, n), n;
}
function Cr() {
	if (j) return yr(M, null), M;
	var e = document.createDocumentFragment(), t = document.createComment(""), n = Jt();
	return e.append(t, n), yr(t, n), e;
}
function J(e, t) {
	if (j) {
		var n = G;
		n.f & 32768 && n.nodes.end !== null || (n.nodes.end = M), _e();
	} else e !== null && e.before(t);
}
// node_modules/svelte/src/reactivity/create-subscriber.js
function wr(e) {
	let t = 0, n = jt(0), r;
	return () => {
		cn() && (K(n), hn(() => (t === 0 && (r = nr(() => e(() => Rt(n)))), t += 1, () => {
			Be(() => {
				--t, t === 0 && (r?.(), r = void 0, Rt(n));
			});
		})));
	};
}
// node_modules/svelte/src/internal/client/dom/blocks/boundary.js
var Tr = S | C;
function Er(e, t, n, r) {
	new Dr(e, t, n, r);
}
var Dr = class {
	parent;
	is_pending = !1;
	transform_error;
	#e;
	#t = j ? M : null;
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
	#m = wr(() => (this.#p = jt(this.#l), () => {
		this.#p = null;
	}));
	constructor(e, t, n, r) {
		this.#e = e, this.#n = t, this.#r = (e) => {
			var t = G;
			t.b = this, t.f |= 128, n(e);
		}, this.parent = G.b, this.transform_error = r ?? this.parent?.transform_error ?? ((e) => e), this.#i = gn(() => {
			if (j) {
				let e = be(this.#t);
				_e();
				let t = e === "[!";
				if (e.startsWith("[?")) {
					let t = JSON.parse(e.slice(2));
					this.#g(t);
				} else t ? this.#y() : this.#h();
			} else this.#b();
		}, Tr), j && (this.#e = M);
	}
	#h() {
		try {
			this.#a = _n(() => this.#r(this.#e));
		} catch (e) {
			this.error(e);
		}
	}
	#g(e) {
		let t = this.#n.failed, { reset: n, invoke_onerror: r } = this.#_(e);
		Be(r), t && (this.#s = _n(() => {
			t(this.#e, () => e, () => n);
		}));
	}
	#_(e) {
		var t = !1, n = !1;
		let r = () => {
			this.#v() || (t ? me() : (t = !0, n && je(), this.#s !== null && wn(this.#s, () => {
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
					rn(e, this.#i && this.#i.parent);
				}
			}
		};
	}
	#v() {
		return (this.#i.f & (y | x)) !== 0;
	}
	#y() {
		let e = this.#n.pending;
		e && (this.is_pending = !0, this.#o = _n(() => e(this.#e)), Be(() => {
			if (!this.#v()) {
				var e = this.#c = document.createDocumentFragment(), t = Jt(), n = !1;
				e.append(t), this.#a = this.#S(() => {
					try {
						return _n(() => this.#r(t));
					} catch (e) {
						try {
							this.error(e), n = !0;
						} catch (e) {
							rn(e, this.#i.parent);
						}
						return null;
					}
				}), this.#a === null ? (this.#c = null, n && this.#x(L)) : this.#u === 0 && (this.#e.before(e), this.#c = null, wn(this.#o, () => {
					this.#o = null;
				}), this.#x(L));
			}
		}));
	}
	#b() {
		try {
			if (this.is_pending = this.has_pending_snippet(), this.#u = 0, this.#l = 0, this.#a = _n(() => {
				this.#r(this.#e);
			}), this.#u > 0) {
				var e = this.#c = document.createDocumentFragment();
				On(this.#a, e);
				let t = this.#n.pending;
				this.#o = _n(() => t(this.#e));
			} else this.#x(L);
		} catch (e) {
			this.error(e);
		}
	}
	#x(e) {
		this.is_pending = !1, e.transfer_reactions(this.#f);
	}
	defer_effect(e) {
		Ge(e, this.#f);
	}
	is_rendered() {
		return !this.is_pending && (!this.parent || this.parent.is_rendered());
	}
	has_pending_snippet() {
		return !!this.#n.pending;
	}
	#S(e) {
		var t = G, n = W, r = Me;
		Pn(this.#i), Nn(this.#i), Ne(this.#i.ctx);
		try {
			return bt.ensure(), e();
		} finally {
			Pn(t), Nn(n), Ne(r);
		}
	}
	#C(e, t) {
		this.has_pending_snippet() ? (this.#u += e, this.#u === 0 && (this.#x(t), this.#o && wn(this.#o, () => {
			this.#o = null;
		}), this.#c &&= (this.#e.before(this.#c), null))) : this.parent && this.parent.#C(e, t);
	}
	update_pending_count(e, t) {
		this.#C(e, t), this.#l += e, !this.#p || this.#d || (this.#d = !0, Be(() => {
			this.#d = !1, this.#p && Ft(this.#p, this.#l);
		}));
	}
	get_effect_pending() {
		return this.#m(), K(this.#p);
	}
	error(e) {
		if (e === k || !this.#n.onerror && !this.#n.failed) throw e;
		L?.is_fork ? (this.#a && L.skip_effect(this.#a), this.#o && L.skip_effect(this.#o), this.#s && L.skip_effect(this.#s), L.oncommit(() => {
			this.#v() || this.#w(e);
		})) : this.#w(e);
	}
	#w(e) {
		this.#a &&= (xn(this.#a), null), this.#o &&= (xn(this.#o), null), this.#s &&= (xn(this.#s), null), j && (ge(this.#t), ve(), ge(ye()));
		let t = this.#n.failed, n = (e) => {
			if (this.#v()) return;
			let { reset: n, invoke_onerror: r } = this.#_(e);
			r(), t && !this.#v() && (this.#s = this.#S(() => {
				try {
					return _n(() => {
						var r = G;
						r.b = this, r.f |= 128, t(this.#e, () => e, () => n);
					});
				} catch (e) {
					return rn(e, this.#i.parent), null;
				}
			}));
		};
		Be(() => {
			if (!this.#v()) {
				var t;
				try {
					t = this.transform_error(e);
				} catch (e) {
					rn(e, this.#i && this.#i.parent);
					return;
				}
				typeof t == "object" && t && typeof t.then == "function" ? t.then(n, (e) => rn(e, this.#i && this.#i.parent)) : n(t);
			}
		});
	}
};
function Y(e, t) {
	var n = t == null ? "" : typeof t == "object" ? `${t}` : t;
	n !== (e[oe] ??= e.nodeValue) && (e[oe] = n, e.nodeValue = `${n}`);
}
function Or(e, t) {
	return Ar(e, t);
}
var kr = new Map();
function Ar(e, { target: t, anchor: n, props: i = {}, events: a, context: o, intro: s = !0, transformError: c }) {
	qt();
	var l = void 0, u = fn(() => {
		var s = n ?? t.appendChild(Jt());
		Er(s, { pending: () => {} }, (t) => {
			Pe({});
			var n = Me;
			if (o && (n.c = o), a && (i.$$events = a), j && yr(t, null), l = e(t, i) || Ie(), j && (G.nodes.end = M, M === null || M.nodeType !== 8 || M.data !== "]")) throw fe(), k;
			Fe();
		}, c);
		var u = new Set(), d = (e) => {
			for (var n = 0; n < e.length; n++) {
				var r = e[n];
				if (!u.has(r)) {
					u.add(r);
					var i = ir(r);
					for (let e of [t, document]) {
						var a = kr.get(e);
						a === void 0 && (a = new Map(), kr.set(e, a));
						var o = a.get(r);
						o === void 0 ? (e.addEventListener(r, hr, { passive: i }), a.set(r, 1)) : a.set(r, o + 1);
					}
				}
			}
		};
		return d(r(or)), sr.add(d), () => {
			for (var e of u) for (let n of [t, document]) {
				var r = kr.get(n), i = r.get(e);
				--i == 0 ? (n.removeEventListener(e, hr), r.delete(e), r.size === 0 && kr.delete(n)) : r.set(e, i);
			}
			sr.delete(d), s !== n && s.parentNode?.removeChild(s);
		};
	});
	return jr.set(l, u), l;
}
var jr = new WeakMap(), Mr = class {
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
			if (n) En(n), this.#r.delete(t);
			else {
				var r = this.#n.get(t);
				r && (En(r.effect), this.#t.set(t, r.effect), this.#n.delete(t), r.fragment.lastChild.remove(), this.anchor.before(r.fragment), n = r.effect);
			}
			for (let [t, n] of this.#e) {
				if (this.#e.delete(t), t === e) break;
				let r = this.#n.get(n);
				r && (xn(r.effect), this.#n.delete(n));
			}
			for (let [e, r] of this.#t) {
				if (e === t || this.#r.has(e)) continue;
				let i = () => {
					if (Array.from(this.#e.values()).includes(e)) {
						var t = document.createDocumentFragment();
						On(r, t), t.append(Jt()), this.#n.set(e, {
							effect: r,
							fragment: t
						});
					} else xn(r);
					this.#r.delete(e), this.#t.delete(e);
				};
				this.#i || !n ? (this.#r.add(e), wn(r, i, !1)) : i();
			}
		}
	};
	#o = (e) => {
		this.#e.delete(e);
		let t = Array.from(this.#e.values());
		for (let [e, n] of this.#n) t.includes(e) || (xn(n.effect), this.#n.delete(e));
	};
	ensure(e, t) {
		var n = L, r = $t();
		if (t && !this.#t.has(e) && !this.#n.has(e)) {
			if (r) {
				var i = document.createDocumentFragment(), a = Jt();
				i.append(a), this.#n.set(e, {
					effect: _n(() => t(a)),
					fragment: i
				});
			} else this.#t.set(e, _n(() => t(this.anchor)));
		}
		if (this.#e.set(n, e), r) {
			for (let [t, r] of this.#t) t === e ? n.unskip_effect(r) : n.skip_effect(r);
			for (let [t, r] of this.#n) t === e ? n.unskip_effect(r.effect) : n.skip_effect(r.effect);
			n.oncommit(this.#a), n.ondiscard(this.#o);
		} else j && (this.anchor = M), this.#a(n);
	}
};
// node_modules/svelte/src/internal/client/dom/blocks/if.js
function X(e, t, n = !1) {
	var r;
	j && (r = M, _e());
	var i = new Mr(e), a = n ? S : 0;
	function o(e, t) {
		if (j) {
			var n = be(r);
			if (e !== parseInt(n.substring(1))) {
				var a = ye();
				ge(a), i.anchor = a, he(!1), i.ensure(e, t), he(!0);
				return;
			}
		}
		i.ensure(e, t);
	}
	gn(() => {
		var e = !1;
		t((t, n = 0) => {
			e = !0, o(n, t);
		}), e || o(-1, null);
	}, a);
}
// node_modules/svelte/src/internal/client/dom/blocks/key.js
var Nr = Symbol("NaN");
function Pr(e, t, n) {
	j && _e();
	var r = new Mr(e), i = !Le();
	gn(() => {
		var e = t();
		e !== e && (e = Nr), i && typeof e == "object" && e && (e = {}), r.ensure(e, n);
	});
}
// node_modules/svelte/src/internal/client/dom/blocks/each.js
function Fr(e, t) {
	return t;
}
function Ir(e, t, n) {
	for (var i = [], a = t.length, o, s = t.length, c = 0; c < a; c++) {
		let n = t[c];
		wn(n, () => {
			if (o) {
				if (o.pending.delete(n), o.done.add(n), o.pending.size === 0) {
					var t = e.outrogroups;
					Lr(e, r(o.done)), t.delete(o), t.size === 0 && (e.outrogroups = null);
				}
			} else --s;
		}, !1);
	}
	if (s === 0) {
		var l = i.length === 0 && n !== null && e.pending.size === 0;
		if (l) {
			var u = n, d = u.parentNode;
			Qt(d), d.append(u), e.items.clear();
		}
		Lr(e, t, !l);
	} else o = {
		pending: new Set(t),
		done: new Set()
	}, (e.outrogroups ??= new Set()).add(o);
}
function Lr(e, t, n = !0) {
	var r;
	if (e.pending.size > 0) {
		r = new Set();
		for (let t of e.pending.values()) for (let n of t) r.add(e.items.get(n).e);
	}
	for (var i = 0; i < t.length; i++) {
		var a = t[i];
		r?.has(a) ? (a.f |= ee, On(a, document.createDocumentFragment())) : xn(t[i], n);
	}
}
var Rr;
function zr(t, n, i, a, o, s = null) {
	var c = t, l = new Map();
	if (n & 4) {
		var u = t;
		c = j ? ge(Yt(u)) : u.appendChild(Jt());
	}
	j && _e();
	var d = null, f = it(() => {
		var t = i();
		return e(t) ? t : t == null ? [] : r(t);
	}), p = new Map(), m = !0;
	function h(e) {
		if (!(_.effect.f & 16384)) {
			_.pending.delete(e);
			var t = K(f);
			_.fallback = d, Vr(_, t, c, n, a), d !== null && (t.length === 0 ? d.f & 33554432 ? (d.f ^= ee, Ur(d, null, c)) : En(d) : wn(d, () => {
				d = null;
			}));
		}
	}
	function g(e) {
		_.pending.delete(e);
	}
	var _ = {
		effect: gn(() => {
			var e = K(f), t = e.length;
			let r = !1;
			j && be(c) === "[!" != (t === 0) && (c = ye(), ge(c), he(!1), r = !0);
			for (var u = new Set(), _ = L, v = $t(), y = 0; y < t; y += 1) {
				j && M.nodeType === 8 && M.data === "]" && (c = M, r = !0, he(!1));
				var b = e[y], x = a(b, y), S = m ? null : l.get(x);
				S ? (S.v && Ft(S.v, b), S.i && Ft(S.i, y), v && _.unskip_effect(S.e)) : (S = Hr(l, m ? c : Rr ??= Jt(), b, x, y, o, n, i), m || (S.e.f |= ee), l.set(x, S)), u.add(x);
			}
			if (t === 0 && s && !d && (m ? d = _n(() => s(c)) : (d = _n(() => s(Rr ??= Jt())), d.f |= ee)), t > u.size && Te("", "", ""), j && t > 0 && ge(ye()), !m) {
				if (p.set(_, u), v) {
					for (let [e, t] of l) u.has(e) || _.skip_effect(t.e);
					_.oncommit(h), _.ondiscard(g);
				} else h(_);
			}
			r && he(!0), K(f);
		}),
		flags: n,
		items: l,
		pending: p,
		outrogroups: null,
		fallback: d
	};
	m = !1, j && (c = M);
}
function Br(e) {
	for (; e !== null && !(e.f & 32);) e = e.next;
	return e;
}
function Vr(e, t, n, i, a) {
	var o = !!(i & 8), s = t.length, c = e.items, l = Br(e.effect.first), u, d = null, f, p = [], m = [], h, g, _, v;
	if (o) for (v = 0; v < s; v += 1) h = t[v], g = a(h, v), _ = c.get(g).e, _.f & 33554432 || (_.nodes?.a?.measure(), (f ??= new Set()).add(_));
	for (v = 0; v < s; v += 1) {
		if (h = t[v], g = a(h, v), _ = c.get(g).e, e.outrogroups !== null) for (let t of e.outrogroups) t.pending.delete(_), t.done.delete(_);
		if (_.f & 8192 && (En(_), o && (_.nodes?.a?.unfix(), (f ??= new Set()).delete(_))), _.f & 33554432) {
			if (_.f ^= ee, _ === l) Ur(_, null, n);
			else {
				var y = d ? d.next : l;
				_ === e.effect.last && (e.effect.last = _.prev), _.prev && (_.prev.next = _.next), _.next && (_.next.prev = _.prev), Wr(e, d, _), Wr(e, _, y), Ur(_, y, n), d = _, p = [], m = [], l = Br(d.next);
				continue;
			}
		}
		if (_ !== l) {
			if (u !== void 0 && u.has(_)) {
				if (p.length < m.length) {
					var b = m[0], x;
					d = b.prev;
					var S = p[0], C = p[p.length - 1];
					for (x = 0; x < p.length; x += 1) Ur(p[x], b, n);
					for (x = 0; x < m.length; x += 1) u.delete(m[x]);
					Wr(e, S.prev, C.next), Wr(e, d, S), Wr(e, C, b), l = b, d = C, --v, p = [], m = [];
				} else u.delete(_), Ur(_, l, n), Wr(e, _.prev, _.next), Wr(e, _, d === null ? e.effect.first : d.next), Wr(e, d, _), d = _;
				continue;
			}
			for (p = [], m = []; l !== null && l !== _;) (u ??= new Set()).add(l), m.push(l), l = Br(l.next);
			if (l === null) continue;
		}
		_.f & 33554432 || p.push(_), d = _, l = Br(_.next);
	}
	if (e.outrogroups !== null) {
		for (let t of e.outrogroups) t.pending.size === 0 && (Lr(e, r(t.done)), e.outrogroups?.delete(t));
		e.outrogroups.size === 0 && (e.outrogroups = null);
	}
	if (l !== null || u !== void 0) {
		var w = [];
		if (u !== void 0) for (_ of u) _.f & 8192 || w.push(_);
		for (; l !== null;) !(l.f & 8192) && l !== e.fallback && w.push(l), l = Br(l.next);
		var T = w.length;
		if (T > 0) {
			var E = i & 4 && s === 0 ? n : null;
			if (o) {
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.measure();
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.fix();
			}
			Ir(e, w, E);
		}
	}
	o && Be(() => {
		if (f !== void 0) for (_ of f) _.nodes?.a?.apply();
	});
}
function Hr(e, t, n, r, i, a, o, s) {
	var c = o & 1 ? o & 16 ? jt(n) : Mt(n, !1, !1) : null, l = o & 2 ? jt(i) : null;
	return {
		v: c,
		i: l,
		e: _n(() => (a(t, c ?? n, l ?? i, s), () => {
			e.delete(r);
		}))
	};
}
function Ur(e, t, n) {
	if (e.nodes) for (var r = e.nodes.start, i = e.nodes.end, a = t && !(t.f & 33554432) ? t.nodes.start : n; r !== null;) {
		var o = Xt(r);
		if (a.before(r), r === i) return;
		r = o;
	}
}
function Wr(e, t, n) {
	t === null ? e.effect.first = n : t.next = n, n === null ? e.effect.last = t : n.prev = t;
}
// node_modules/svelte/src/internal/shared/attributes.js
var Gr = [..." 	\n\r\f\xA0\v﻿"];
function Kr(e, t, n) {
	var r = e == null ? "" : "" + e;
	if (t && (r = r ? r + " " + t : t), n) {
		for (var i of Object.keys(n)) if (n[i]) r = r ? r + " " + i : i;
		else if (r.length) for (var a = i.length, o = 0; (o = r.indexOf(i, o)) >= 0;) {
			var s = o + a;
			(o === 0 || Gr.includes(r[o - 1])) && (s === r.length || Gr.includes(r[s])) ? r = (o === 0 ? "" : r.substring(0, o)) + r.substring(s + 1) : o = s;
		}
	}
	return r === "" ? null : r;
}
function qr(e, t = !1) {
	var n = t ? " !important;" : ";", r = "";
	for (var i of Object.keys(e)) {
		var a = e[i];
		a != null && a !== "" && (r += " " + i + ": " + a + n);
	}
	return r;
}
function Jr(e) {
	return e[0] !== "-" || e[1] !== "-" ? e.toLowerCase() : e;
}
function Yr(e, t) {
	if (t) {
		var n = "", r, i;
		if (Array.isArray(t) ? (r = t[0], i = t[1]) : r = t, e) {
			e = String(e).replaceAll(/\/\*.*?\*\//g, "").trim();
			var a = !1, o = 0, s = !1, c = [];
			r && c.push(...Object.keys(r).map(Jr)), i && c.push(...Object.keys(i).map(Jr));
			var l = 0, u = -1;
			let t = e.length;
			for (var d = 0; d < t; d++) {
				var f = e[d];
				if (s ? f === "/" && e[d - 1] === "*" && (s = !1) : a ? a === f && (a = !1) : f === "/" && e[d + 1] === "*" ? s = !0 : f === "\"" || f === "'" ? a = f : f === "(" ? o++ : f === ")" && o--, !s && a === !1 && o === 0) {
					if (f === ":" && u === -1) u = d;
					else if (f === ";" || d === t - 1) {
						if (u !== -1) {
							var p = Jr(e.substring(l, u).trim());
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
		return r && (n += qr(r)), i && (n += qr(i, !0)), n = n.trim(), n === "" ? null : n;
	}
	return e == null ? null : String(e);
}
// node_modules/svelte/src/internal/client/dom/elements/class.js
function Xr(e, t, n, r, i, a) {
	var o = e[ie];
	if (j || o !== n || o === void 0) {
		var s = Kr(n, r, a);
		j && s === e.getAttribute("class") || (s == null ? e.removeAttribute("class") : t ? e.className = s : e.setAttribute("class", s)), e[ie] = n;
	} else if (a && i !== a) for (var c in a) {
		var l = !!a[c];
		(i == null || l !== !!i[c]) && e.classList.toggle(c, l);
	}
	return a;
}
// node_modules/svelte/src/internal/client/dom/elements/style.js
function Zr(e, t = {}, n, r) {
	for (var i in n) {
		var a = n[i];
		t[i] !== a && (n[i] == null ? e.style.removeProperty(i) : e.style.setProperty(i, a, r));
	}
}
function Qr(e, t, n, r) {
	var i = e[ae];
	if (j || i !== t) {
		var a = Yr(t, r);
		j && a === e.getAttribute("style") || (a == null ? e.removeAttribute("style") : e.style.cssText = a), e[ae] = t;
	} else r && (Array.isArray(r) ? (Zr(e, n?.[0], r[0]), Zr(e, n?.[1], r[1], "important")) : Zr(e, n, r));
	return r;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/select.js
function $r(e, t) {
	t ? e.hasAttribute("selected") || e.setAttribute("selected", "") : e.removeAttribute("selected");
}
function ei(t, n) {
	var r = t.__defaultValue, i = t.multiple, a = i ? r ?? [] : null;
	if (!i || e(a)) {
		var o = t.selectedIndex, s = n && i ? new Set(t.selectedOptions) : null;
		for (var c of t.options) {
			var l = ri(c);
			$r(c, i ? a.includes(l) : Ht(l, r));
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
function ti(t, n, r = !1) {
	if (t.multiple) {
		if (n == null) return;
		if (!e(n)) return pe();
		for (var i of t.options) i.selected = n.includes(ri(i));
	} else {
		for (i of t.options) if (Ht(ri(i), n)) {
			i.selected = !0;
			return;
		}
		r && n === void 0 || (t.selectedIndex = -1);
	}
}
function ni(e) {
	var t = new MutationObserver((t) => {
		t.every(ii) || ("__defaultValue" in e && ei(e, !1), "__value" in e && ti(e, e.__value));
	});
	t.observe(e, {
		childList: !0,
		subtree: !0,
		attributes: !0,
		attributeFilter: ["value"]
	}), ln(() => {
		t.disconnect();
	});
}
function ri(e) {
	return "__value" in e ? e.__value : e.value;
}
function ii(e) {
	if (e.target.closest("selectedcontent") !== null) return !0;
	if (e.type === "childList") {
		var t = [...e.addedNodes, ...e.removedNodes];
		return t.length > 0 && t.every((e) => e.nodeName === "SELECTEDCONTENT");
	}
	return !1;
}
// node_modules/svelte/src/internal/client/dom/elements/attributes.js
var ai = Symbol("is custom element"), oi = Symbol("is html"), si = le ? "link" : "LINK", ci = le ? "progress" : "PROGRESS";
function li(e) {
	if (j) {
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
		e[se] = n, Be(n), Je();
	}
}
function ui(e, t) {
	var n = fi(e);
	n.value !== (n.value = t ?? void 0) && (e.value !== t || t === 0 && e.nodeName === ci) && (e.value = t ?? "");
}
function di(e, t) {
	var n = fi(e);
	n.checked !== (n.checked = t ?? void 0) && (e.checked = t);
}
function Z(e, t, n, r) {
	var i = fi(e);
	if (!(j && (i[t] = e.getAttribute(t), t === "src" || t === "srcset" || t === "href" && e.nodeName === si))) {
		var a = i[t];
		a !== (i[t] = n) && (t === "loading" && (e[O] = n), n == null ? e.removeAttribute(t) : typeof n != "string" && mi(e).has(t) ? e[t] = n : (!j || typeof n != "number" && typeof n != "boolean" || a !== String(n)) && e.setAttribute(t, n));
	}
}
function fi(e) {
	return e[re] ??= {
		[ai]: e.nodeName.includes("-"),
		[oi]: e.namespaceURI === ue
	};
}
var pi = new Map();
function mi(e) {
	var t = e.getAttribute("is") || e.nodeName, n = pi.get(t);
	if (n) return n;
	pi.set(t, n = new Set());
	for (var r, i = e, a = Element.prototype; a !== i;) {
		for (var s in r = o(i), r) r[s].set && s !== "innerHTML" && s !== "textContent" && s !== "innerText" && n.add(s);
		i = l(i);
	}
	return n;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/input.js
function hi(e, t, n = t) {
	var r = new WeakSet();
	Xe(e, "input", async (i) => {
		var a = i ? e.defaultValue : e.value;
		if (a = gi(e) ? _i(a) : a, n(a), L !== null && r.add(L), await $n(), a !== (a = t())) {
			var o = e.selectionStart, s = e.selectionEnd, c = e.value.length;
			if (e.value = a ?? "", s !== null) {
				var l = e.value.length;
				o === s && s === c && l > c ? (e.selectionStart = l, e.selectionEnd = l) : (e.selectionStart = o, e.selectionEnd = Math.min(s, l));
			}
		}
	}), (j && e.defaultValue !== e.value || nr(t) == null && e.value) && (n(gi(e) ? _i(e.value) : e.value), L !== null && r.add(L)), hn(() => {
		var n = t();
		if (e === document.activeElement) {
			var i = L;
			if (r.has(i)) return;
		}
		gi(e) && n === _i(e.value) || (e.type !== "date" || n || e.value) && n !== e.value && (e.value = n ?? "");
	});
}
function gi(e) {
	var t = e.type;
	return t === "number" || t === "range";
}
function _i(e) {
	return e === "" ? null : +e;
}
var vi = new class e {
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
function yi(e, t, n) {
	var r = vi.observe(e, () => n(e[t]));
	pn(() => (nr(() => n(e[t])), r));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/this.js
function bi(e, t) {
	return e === t || e?.[te] === t;
}
function xi(e = Ie(), t, n, r) {
	var i = Me.r, a = G;
	return pn(() => {
		var o, s;
		return hn(() => {
			o = s, s = r?.() || [], nr(() => {
				bi(n(...s), e) || (t(e, ...s), o && bi(n(...o), e) && t(null, ...o));
			});
		}), () => {
			let r = a;
			for (; r !== i && r.parent !== null && r.parent.f & 33554432;) r = r.parent;
			let o = () => {
				s && bi(n(...s), e) && t(null, ...s);
			}, c = r.teardown;
			r.teardown = () => {
				o(), c?.();
			};
		};
	}), e;
}
// node_modules/svelte/src/internal/disclose-version.js
typeof window < "u" && ((window.__svelte ??= {}).v ??= new Set()).add("5");
// node_modules/@uwdata/flechette/src/constants.js
var Si = Uint8Array.of(65, 82, 82, 79, 87, 49), Ci = {
	V1: 0,
	V2: 1,
	V3: 2,
	V4: 3,
	V5: 4
}, wi = {
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
}, Ti = {
	HALF: 0,
	SINGLE: 1,
	DOUBLE: 2
}, Ei = {
	DAY: 0,
	MILLISECOND: 1
}, Di = {
	SECOND: 0,
	MILLISECOND: 1,
	MICROSECOND: 2,
	NANOSECOND: 3
}, Oi = {
	YEAR_MONTH: 0,
	DAY_TIME: 1,
	MONTH_DAY_NANO: 2
}, ki = {
	Sparse: 0,
	Dense: 1
}, Ai = {
	LZ4_FRAME: 0,
	ZSTD: 1
}, ji = { BUFFER: 0 }, Mi = Uint8Array, Ni = Uint16Array, Pi = Uint32Array, Fi = BigUint64Array, Ii = Int8Array, Li = Int16Array, Ri = Int32Array, zi = BigInt64Array, Bi = Float32Array, Vi = Float64Array;
function Hi(e) {
	return Object.prototype.toString.call(e);
}
function Ui(e) {
	return Hi(e) === "[object ArrayBuffer]" || Hi(e) === "[object SharedArrayBuffer]";
}
function Wi(e) {
	return Hi(e) === "[object Uint8Array]";
}
function Gi(e, t) {
	let n = Math.log2(e) - 3;
	return (t ? [
		Ii,
		Li,
		Ri,
		zi
	] : [
		Mi,
		Ni,
		Pi,
		Fi
	])[n];
}
function Ki(e, t) {
	let n = 0, r = e.length;
	if (r <= 0x80000000) do {
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
function qi(e, t, n) {
	if (t(e)) return e;
	throw Error(n(e));
}
function Ji(e, t, n) {
	return t = Array.isArray(t) ? t : Object.values(t), qi(e, (e) => t.includes(e), n ?? (() => `${e} must be one of ${t}`));
}
function Yi(e, t) {
	for (let [n, r] of Object.entries(e)) if (r === t) return n;
	return "<Unknown>";
}
// node_modules/@uwdata/flechette/src/data-types.js
var Xi = (e) => `Unsupported data type: "${Yi(Q, e)}" (id ${e})`, Zi = (e, t, n = !0, r = null) => ({
	name: e,
	type: t,
	nullable: n,
	metadata: r
});
function Qi(e) {
	return Object.hasOwn(e, "name") && $i(e.type);
}
function $i(e) {
	return typeof e?.typeId == "number";
}
function ea(e, t = "", n = !0) {
	return Qi(e) ? e : Zi(t, qi(e, $i, () => "Data type expected."), n);
}
var ta = (e, t, n = !1, r = -1) => ({
	typeId: Q.Dictionary,
	id: r,
	dictionary: e,
	indices: t || ra(),
	ordered: n
}), na = (e = 32, t = !0) => ({
	typeId: Q.Int,
	bitWidth: Ji(e, [
		8,
		16,
		32,
		64
	]),
	signed: t,
	values: Gi(e, t)
}), ra = () => na(32), ia = (e = 2) => ({
	typeId: Q.Float,
	precision: Ji(e, Ti),
	values: [
		Ni,
		Bi,
		Vi
	][e]
}), aa = () => ({
	typeId: Q.Binary,
	offsets: Ri
}), oa = () => ({
	typeId: Q.Utf8,
	offsets: Ri
}), sa = (e, t, n = 128) => ({
	typeId: Q.Decimal,
	precision: e,
	scale: t,
	bitWidth: Ji(n, [
		32,
		64,
		128,
		256
	]),
	values: n === 32 ? Ri : Fi
}), ca = (e) => ({
	typeId: Q.Date,
	unit: Ji(e, Ei),
	values: e === Ei.DAY ? Ri : zi
}), la = (e = Di.MILLISECOND) => {
	e = Ji(e, Di);
	let t = e === Di.SECOND || e === Di.MILLISECOND ? 32 : 64;
	return {
		typeId: Q.Time,
		unit: e,
		bitWidth: t,
		values: t === 32 ? Ri : zi
	};
}, ua = (e = Di.MILLISECOND, t = null) => ({
	typeId: Q.Timestamp,
	unit: Ji(e, Di),
	timezone: t,
	values: zi
}), da = (e = Oi.MONTH_DAY_NANO) => ({
	typeId: Q.Interval,
	unit: Ji(e, Oi),
	values: e === Oi.MONTH_DAY_NANO ? void 0 : Ri
}), fa = (e) => ({
	typeId: Q.List,
	children: [ea(e)],
	offsets: Ri
}), pa = (e) => ({
	typeId: Q.Struct,
	children: Array.isArray(e) && e.length > 0 && Qi(e[0]) ? e : Object.entries(e).map(([e, t]) => Zi(e, t))
}), ma = (e, t, n, r) => (n ??= t.map((e, t) => t), {
	typeId: Q.Union,
	mode: Ji(e, ki),
	typeIds: n,
	typeMap: n.reduce((e, t, n) => (e[t] = n, e), {}),
	children: t.map((e, t) => ea(e, `_${t}`)),
	typeIdForValue: r,
	offsets: Ri
}), ha = (e) => ({
	typeId: Q.FixedSizeBinary,
	stride: e
}), ga = (e, t) => ({
	typeId: Q.FixedSizeList,
	stride: t,
	children: [ea(e)]
}), _a = (e, t) => ({
	typeId: Q.Map,
	keysSorted: e,
	children: [t],
	offsets: Ri
}), va = (e = Di.MILLISECOND) => ({
	typeId: Q.Duration,
	unit: Ji(e, Di),
	values: zi
}), ya = () => ({
	typeId: Q.LargeBinary,
	offsets: zi
}), ba = () => ({
	typeId: Q.LargeUtf8,
	offsets: zi
}), xa = (e) => ({
	typeId: Q.LargeList,
	children: [ea(e)],
	offsets: zi
}), Sa = (e, t) => ({
	typeId: Q.RunEndEncoded,
	children: [qi(ea(e, "run_ends"), (e) => e.type.typeId === Q.Int, () => "Run-ends must have an integer type."), ea(t, "values")]
}), Ca = (e) => ({
	typeId: Q.ListView,
	children: [ea(e, "value")],
	offsets: Ri
}), wa = (e) => ({
	typeId: Q.LargeListView,
	children: [ea(e, "value")],
	offsets: zi
}), Ta = new Vi(2).buffer;
new zi(Ta), new Pi(Ta), new Ri(Ta), new Mi(Ta);
function Ea(e) {
	if (e > 2 ** 53 - 1 || e < -(2 ** 53 - 1)) throw Error(`BigInt exceeds integer number representation: ${e}`);
	return Number(e);
}
function Da(e, t) {
	return Number(e / t) + Number(e % t) / Number(t);
}
var Oa = (e) => BigInt.asUintN(64, e);
function ka(e, t) {
	return BigInt.asIntN(64, e[t]);
}
function Aa(e, t) {
	let n = t << 1, r;
	return BigInt.asIntN(64, e[n + 1]) < 0 ? (r = Oa(~e[n]) | Oa(~e[n + 1]) << 64n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n, r;
}
function ja(e, t) {
	let n = t << 2, r;
	return BigInt.asIntN(64, e[n + 3]) < 0 ? (r = Oa(~e[n]) | Oa(~e[n + 1]) << 64n | Oa(~e[n + 2]) << 128n | Oa(~e[n + 3]) << 192n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n | e[n + 2] << 128n | e[n + 3] << 192n, r;
}
// node_modules/@uwdata/flechette/src/util/strings.js
var Ma = new TextDecoder("utf-8");
new TextEncoder();
function Na(e) {
	return Ma.decode(e);
}
function Pa(e, t) {
	return !!(e[t >> 3] & 1 << t % 8);
}
function Fa(e, t) {
	let n = t + Ha(e, t), r = n - Ha(e, n), i = Ba(e, r);
	return (t, a, o = null) => {
		if (t < i) {
			let i = Ba(e, r + t);
			if (i) return a(e, n + i);
		}
		return o;
	};
}
function Ia(e, t) {
	return t;
}
function La(e, t) {
	return !!Ra(e, t);
}
function Ra(e, t) {
	return za(e, t) << 24 >> 24;
}
function za(e, t) {
	return e[t];
}
function Ba(e, t) {
	return Va(e, t) << 16 >> 16;
}
function Va(e, t) {
	return e[t] | e[t + 1] << 8;
}
function Ha(e, t) {
	return e[t] | e[t + 1] << 8 | e[t + 2] << 16 | e[t + 3] << 24;
}
function Ua(e, t) {
	return Ha(e, t) >>> 0;
}
function Wa(e, t) {
	return Ea(BigInt.asIntN(64, BigInt(Ua(e, t)) + (BigInt(Ua(e, t + 4)) << 32n)));
}
function Ga(e, t) {
	let n = t + Ha(e, t), r = Ha(e, n);
	return n += 4, Na(e.subarray(n, n + r));
}
function Ka(e, t, n, r) {
	if (!t) return [];
	let i = t + Ha(e, t);
	return Array.from({ length: Ha(e, i) }, (t, a) => r(e, i + 4 + a * n));
}
// node_modules/@uwdata/flechette/src/util/struct.js
var qa = Symbol("rowIndex");
function Ja(e, t) {
	class n {
		constructor(e) {
			this[qa] = e;
		}
		toJSON() {
			return Xa(e, t, this[qa]);
		}
	}
	let r = n.prototype;
	for (let n = 0; n < e.length; ++n) {
		if (Object.hasOwn(r, e[n])) continue;
		let i = t[n];
		Object.defineProperty(r, e[n], {
			get() {
				return i.at(this[qa]);
			},
			enumerable: !0
		});
	}
	return (e) => new n(e);
}
function Ya(e, t) {
	return (n) => Xa(e, t, n);
}
function Xa(e, t, n) {
	let r = {};
	for (let i = 0; i < e.length; ++i) r[e[i]] = t[i].at(n);
	return r;
}
// node_modules/@uwdata/flechette/src/batch.js
function Za(e) {
	return e instanceof $a;
}
var Qa = class {
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
		return Pa(this.validity, e);
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
}, $a = class extends Qa {
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
}, eo = class extends Qa {
	static ArrayType = Vi;
}, to = class extends Qa {
	static ArrayType = Array;
}, no = class extends to {
	value(e) {
		return null;
	}
}, ro = class extends eo {
	value(e) {
		return Ea(this.values[e]);
	}
}, io = class extends eo {
	value(e) {
		let t = this.values[e], n = (t & 31744) >> 10, r = (t & 1023) / 1024, i = (-1) ** ((t & 32768) >> 15);
		switch (n) {
			case 31: return i * (r ? NaN : 1 / 0);
			case 0: return i * (r ? 6103515625e-14 * r : 0);
		}
		return i * 2 ** (n - 15) * (1 + r);
	}
}, ao = class extends to {
	value(e) {
		return Pa(this.values, e);
	}
}, oo = class extends eo {
	constructor(e) {
		super(e);
		let { scale: t } = this.type;
		this.scale = 10 ** t;
	}
	value(e) {
		return this.values[e] / this.scale;
	}
}, so = class extends Qa {
	constructor(e) {
		super(e);
		let { bitWidth: t, scale: n } = this.type;
		this.decimal = t === 64 ? ka : t === 128 ? Aa : ja, this.scale = 10n ** BigInt(n);
	}
}, co = class extends so {
	static ArrayType = Vi;
	value(e) {
		return Da(this.decimal(this.values, e), this.scale);
	}
}, lo = class extends so {
	static ArrayType = Array;
	value(e) {
		return this.decimal(this.values, e);
	}
}, uo = class extends to {
	constructor(e) {
		super(e), this.source = e;
	}
	value(e) {
		return new Date(this.source.value(e));
	}
}, fo = class extends eo {
	value(e) {
		return 864e5 * this.values[e];
	}
}, po = ro, mo = class extends ro {
	value(e) {
		return super.value(e) * 1e3;
	}
}, ho = ro, go = class extends ro {
	value(e) {
		return Da(this.values[e], 1000n);
	}
}, _o = class extends ro {
	value(e) {
		return Da(this.values[e], 1000000n);
	}
}, vo = class extends to {
	value(e) {
		return this.values.subarray(e << 1, e + 1 << 1);
	}
}, yo = class extends to {
	value(e) {
		let t = this.values, n = e << 4;
		return Float64Array.of(Ha(t, n), Ha(t, n + 4), Wa(t, n + 8));
	}
}, bo = ({ values: e, offsets: t }, n) => e.subarray(t[n], t[n + 1]), xo = ({ values: e, offsets: t }, n) => e.subarray(Ea(t[n]), Ea(t[n + 1])), So = class extends to {
	value(e) {
		return bo(this, e);
	}
}, Co = class extends to {
	value(e) {
		return xo(this, e);
	}
}, wo = class extends to {
	value(e) {
		return Na(bo(this, e));
	}
}, To = class extends to {
	value(e) {
		return Na(xo(this, e));
	}
}, Eo = class extends to {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(t[e], t[e + 1]);
	}
}, Do = class extends to {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(Ea(t[e]), Ea(t[e + 1]));
	}
}, Oo = class extends to {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(t, n);
	}
}, ko = class extends to {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(Ea(t), Ea(n));
	}
}, Ao = class extends to {
	constructor(e) {
		super(e), this.stride = this.type.stride;
	}
}, jo = class extends Ao {
	value(e) {
		let { stride: t, values: n } = this;
		return n.subarray(e * t, (e + 1) * t);
	}
}, Mo = class extends Ao {
	value(e) {
		let { children: t, stride: n } = this;
		return t[0].slice(e * n, (e + 1) * n);
	}
};
function No({ children: e, offsets: t }, n) {
	let [r, i] = e[0].children, a = t[n], o = t[n + 1], s = [];
	for (let e = a; e < o; ++e) s.push([r.at(e), i.at(e)]);
	return s;
}
var Po = class extends to {
	value(e) {
		return No(this, e);
	}
}, Fo = class extends to {
	value(e) {
		return new Map(No(this, e));
	}
}, Io = class extends to {
	constructor({ typeIds: e, ...t }) {
		super(t), this.typeIds = e, this.typeMap = this.type.typeMap;
	}
	value(e, t = e) {
		let { typeIds: n, children: r, typeMap: i } = this;
		return r[i[n[e]]].at(t);
	}
}, Lo = class extends Io {
	value(e) {
		return super.value(e, this.offsets[e]);
	}
}, Ro = class extends to {
	constructor(e, t = Ya) {
		super(e), this.names = this.type.children.map((e) => e.name), this.factory = t(this.names, this.children);
	}
	value(e) {
		return this.factory(e);
	}
}, zo = class extends Ro {
	constructor(e) {
		super(e, Ja);
	}
}, Bo = class extends to {
	value(e) {
		let [{ values: t }, n] = this.children;
		return n.at(Ki(t, e));
	}
}, Vo = class extends to {
	setDictionary(e) {
		return this.dictionary = e, this.cache = e.cache(), this;
	}
	value(e) {
		return this.cache[this.key(e)];
	}
	key(e) {
		return this.values[e];
	}
}, Ho = class extends to {
	constructor({ data: e, ...t }) {
		super(t), this.data = e;
	}
	view(e) {
		let { values: t, data: n } = this, r = e << 4, i = r + 4, a = t, o = Ha(a, r);
		return o > 12 && (i = Ha(a, r + 12), a = n[Ha(a, r + 8)]), a.subarray(i, i + o);
	}
}, Uo = class extends Ho {
	value(e) {
		return this.view(e);
	}
}, Wo = class extends Ho {
	value(e) {
		return Na(this.view(e));
	}
};
// node_modules/@uwdata/flechette/src/column.js
function Go(e) {
	let t = [];
	return {
		add(e) {
			return t.push(e), this;
		},
		clear: () => t = [],
		done: () => new Ko(t, e)
	};
}
var Ko = class {
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
		return e.length === 1 ? e[0][Symbol.iterator]() : qo(e);
	}
	at(e) {
		let { data: t, offsets: n } = this, r = Ki(n, e) - 1;
		return t[r]?.at(e - n[r]);
	}
	get(e) {
		return this.at(e);
	}
	toArray() {
		let { length: e, nullCount: t, data: n } = this, r = !t && Za(n[0]), i = n.length;
		if (r && i === 1) return n[0].values;
		let a = new (!i || t > 0 ? Array : n[0].constructor.ArrayType ?? n[0].values.constructor)(e);
		return r ? Jo(a, n) : Yo(a, n);
	}
	cache() {
		return this._cache ??= this.toArray();
	}
};
function* qo(e) {
	for (let t = 0; t < e.length; ++t) {
		let n = e[t][Symbol.iterator]();
		for (let e = n.next(); !e.done; e = n.next()) yield e.value;
	}
}
function Jo(e, t) {
	for (let n = 0, r = 0; n < t.length; ++n) {
		let { values: i } = t[n];
		e.set(i, r), r += i.length;
	}
	return e;
}
function Yo(e, t) {
	let n = -1;
	for (let r = 0; r < t.length; ++r) {
		let i = t[r];
		for (let t = 0; t < i.length; ++t) e[++n] = i.at(t);
	}
	return e;
}
// node_modules/@uwdata/flechette/src/table.js
var Xo = class e {
	constructor(e, t, n = !1) {
		let r = e.fields.map((e) => e.name);
		this.schema = e, this.names = r, this.children = t, this.factory = n ? Ja : Ya;
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
			fields: t.map((e, t) => Zo(o[e], n[t]))
		}, t.map((e) => r[e]), i === Ja);
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
		let [{ offsets: i }] = t, a = Ki(i, e) - 1;
		return n(a)(e - i[a]);
	}
	get(e) {
		return this.at(e);
	}
};
function Zo(e, t) {
	return t != null && t !== e.name ? {
		...e,
		name: t
	} : e;
}
// node_modules/@uwdata/flechette/src/batch-type.js
function Qo(e, t = {}) {
	let { typeId: n, bitWidth: r, mode: i, precision: a, unit: o } = e, { useBigInt: s, useBigIntTimestamp: c, useDate: l, useDecimalInt: u, useMap: d, useProxy: f } = t;
	switch (n) {
		case Q.Null: return no;
		case Q.Bool: return ao;
		case Q.Int:
		case Q.Time:
		case Q.Duration: return s || r < 64 ? $a : ro;
		case Q.Float: return a ? $a : io;
		case Q.Date: return $o(o === Ei.DAY ? fo : po, l && uo);
		case Q.Timestamp: return c ? $a : $o(o === Di.SECOND ? mo : o === Di.MILLISECOND ? ho : o === Di.MICROSECOND ? go : _o, l && uo);
		case Q.Decimal: return r === 32 ? u ? $a : oo : u ? lo : co;
		case Q.Interval: return o === Oi.DAY_TIME ? vo : o === Oi.YEAR_MONTH ? $a : yo;
		case Q.FixedSizeBinary: return jo;
		case Q.Utf8: return wo;
		case Q.LargeUtf8: return To;
		case Q.Binary: return So;
		case Q.LargeBinary: return Co;
		case Q.BinaryView: return Uo;
		case Q.Utf8View: return Wo;
		case Q.List: return Eo;
		case Q.LargeList: return Do;
		case Q.Map: return d ? Fo : Po;
		case Q.ListView: return Oo;
		case Q.LargeListView: return ko;
		case Q.FixedSizeList: return Mo;
		case Q.Struct: return f ? zo : Ro;
		case Q.RunEndEncoded: return Bo;
		case Q.Dictionary: return Vo;
		case Q.Union: return i ? Lo : Io;
	}
	throw Error(Xi(n));
}
function $o(e, t) {
	return t ? class extends t {
		constructor(t) {
			super(new e(t));
		}
	} : e;
}
// node_modules/@uwdata/flechette/src/compression.js
var es = -1, ts = 8;
function ns(e) {
	return `Missing compression codec "${Yi(Ai, e)}" (id ${e})`;
}
var rs = new Map();
function is(e) {
	return e != null && rs.get(e) || null;
}
function as(e, { offset: t, length: n }, r) {
	if (n === 0) return {
		bytes: new Uint8Array(),
		offset: 0,
		length: 0
	};
	let i = Wa(e, t), a = e.subarray(t + ts, t + n), o = i === es ? a : r.decode(a, i);
	return {
		bytes: o,
		offset: 0,
		length: o.length
	};
}
// node_modules/@uwdata/flechette/src/decode/block.js
function os(e, t) {
	return {
		offset: Wa(e, t),
		metadataLength: Ha(e, t + 8),
		bodyLength: Wa(e, t + 16)
	};
}
function ss(e, t) {
	return Ka(e, t, 24, os);
}
// node_modules/@uwdata/flechette/src/decode/body-compression.js
function cs(e, t) {
	let n = Fa(e, t);
	return {
		codec: n(4, Ra, Ai.LZ4_FRAME),
		method: n(6, Ra, ji.BUFFER)
	};
}
// node_modules/@uwdata/flechette/src/decode/record-batch.js
function ls(e, t, n) {
	let r = Fa(e, t), i = n < Ci.V4 ? 8 : 0;
	return {
		length: r(4, Wa, 0),
		nodes: Ka(e, r(6, Ia), 16, (e, t) => ({
			length: Wa(e, t),
			nullCount: Wa(e, t + 8)
		})),
		regions: Ka(e, r(8, Ia), 16 + i, (e, t) => ({
			offset: Wa(e, t + i),
			length: Wa(e, t + i + 8)
		})),
		compression: r(10, cs),
		variadic: Ka(e, r(12, Ia), 8, Wa)
	};
}
// node_modules/@uwdata/flechette/src/decode/dictionary-batch.js
function us(e, t, n) {
	let r = Fa(e, t);
	return {
		id: r(4, Wa, 0),
		data: r(6, (e, t) => ls(e, t, n)),
		isDelta: r(8, La, !1)
	};
}
// node_modules/@uwdata/flechette/src/decode/data-type.js
function ds(e, t, n, r) {
	Ji(n, Q, Xi);
	let i = Fa(e, t);
	switch (n) {
		case Q.Binary: return aa();
		case Q.Utf8: return oa();
		case Q.LargeBinary: return ya();
		case Q.LargeUtf8: return ba();
		case Q.List: return fa(r[0]);
		case Q.ListView: return Ca(r[0]);
		case Q.LargeList: return xa(r[0]);
		case Q.LargeListView: return wa(r[0]);
		case Q.Struct: return pa(r);
		case Q.RunEndEncoded: return Sa(r[0], r[1]);
		case Q.Int: return na(i(4, Ha, 0), i(6, La, !1));
		case Q.Float: return ia(i(4, Ba, Ti.HALF));
		case Q.Decimal: return sa(i(4, Ha, 0), i(6, Ha, 0), i(8, Ha, 128));
		case Q.Date: return ca(i(4, Ba, Ei.MILLISECOND));
		case Q.Time: return la(i(4, Ba, Di.MILLISECOND));
		case Q.Timestamp: return ua(i(4, Ba, Di.SECOND), i(6, Ga));
		case Q.Interval: return da(i(4, Ba, Oi.YEAR_MONTH));
		case Q.Duration: return va(i(4, Ba, Di.MILLISECOND));
		case Q.FixedSizeBinary: return ha(i(4, Ha, 0));
		case Q.FixedSizeList: return ga(r[0], i(4, Ha, 0));
		case Q.Map: return _a(i(4, La, !1), r[0]);
		case Q.Union: return ma(i(4, Ba, ki.Sparse), r, Ka(e, i(6, Ia), 4, Ha));
	}
	return { typeId: n };
}
// node_modules/@uwdata/flechette/src/decode/metadata.js
function fs(e, t) {
	let n = Ka(e, t, 4, (e, t) => {
		let n = Fa(e, t);
		return [n(4, Ga), n(6, Ga)];
	});
	return n.length ? new Map(n) : null;
}
// node_modules/@uwdata/flechette/src/decode/schema.js
function ps(e, t, n) {
	let r = Fa(e, t);
	return {
		version: n,
		endianness: r(4, Ba, 0),
		fields: r(6, ms, []),
		metadata: r(8, fs)
	};
}
function ms(e, t) {
	return Ka(e, t, 4, hs);
}
function hs(e, t) {
	let n = Fa(e, t), r = n(8, za, Q.NONE), i = n(10, Ia, 0), a = n(12, _s), o = ds(e, i, r, n(14, gs, []));
	return a && (a.dictionary = o, o = a), {
		name: n(4, Ga),
		type: o,
		nullable: n(6, La, !1),
		metadata: n(16, fs)
	};
}
function gs(e, t) {
	return Ka(e, t, 4, hs);
}
function _s(e, t) {
	if (!t) return null;
	let n = Fa(e, t);
	return ta(null, n(6, vs, ra()), n(8, La, !1), n(4, Wa, 0));
}
function vs(e, t) {
	return ds(e, t, Q.Int);
}
// node_modules/@uwdata/flechette/src/decode/message.js
var ys = (e, t) => `Expected to read ${e} metadata bytes, but only read ${t}.`, bs = (e, t) => `Expected to read ${e} bytes for message body, but only read ${t}.`, xs = (e) => `Unsupported message type: ${e} (${Yi(wi, e)})`;
function Ss(e, t) {
	let n = Ha(e, t) || 0;
	if (t += 4, n === -1 && (n = Ha(e, t) || 0, t += 4), n === 0) return null;
	let r = e.subarray(t, t += n);
	if (r.byteLength < n) throw Error(ys(n, r.byteLength));
	let i = Fa(r, 0), a = i(4, Ba, Ci.V1), o = i(6, za, wi.NONE), s = i(8, Ia, 0), c = i(10, Wa, 0), l;
	if (s) {
		let n = o === wi.Schema ? ps : o === wi.DictionaryBatch ? us : o === wi.RecordBatch ? ls : null;
		if (!n) throw Error(xs(o));
		if (l = n(r, s, a), c > 0) {
			let n = e.subarray(t, t += c);
			if (n.byteLength < c) throw Error(bs(c, n.byteLength));
			l.body = n;
		} else o !== wi.Schema && (l.body = new Uint8Array());
	}
	return {
		version: a,
		type: o,
		index: t,
		content: l
	};
}
// node_modules/@uwdata/flechette/src/decode/decode-ipc.js
function Cs(e) {
	let t = Ui(e) ? new Uint8Array(e) : e;
	return Wi(t) && ws(t) ? Es(t) : Ts(t);
}
function ws(e) {
	if (!e || e.length < 4) return !1;
	for (let t = 0; t < 6; ++t) if (Si[t] !== e[t]) return !1;
	return !0;
}
function Ts(e) {
	let t = [e].flat(), n, r = [], i = [], a = [];
	for (let e of t) {
		if (!Wi(e)) throw Error("IPC data batch was not a Uint8Array.");
		let t = 0;
		for (;;) {
			let o = Ss(e, t);
			if (o === null) break;
			if (t = o.index, o.content) switch (o.type) {
				case wi.Schema:
					n ||= o.content;
					break;
				case wi.RecordBatch:
					r.push(o.content), a.push(i.length);
					break;
				case wi.DictionaryBatch: i.push(o.content);
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
function Es(e) {
	let t = e.byteLength - (Si.length + 4), n = Fa(e, t - Ha(e, t)), r = n(4, Ba, Ci.V1), i = n(8, ss, []), a = n(10, ss, []), o = a.map((e) => i.filter((t) => t.offset < e.offset).length);
	return {
		schema: n(6, (e, t) => ps(e, t, r)),
		dictionaries: i.map(({ offset: t }) => Ss(e, t).content),
		records: a.map(({ offset: t }) => Ss(e, t).content),
		dictsBeforeRecord: o,
		metadata: n(12, fs)
	};
}
// node_modules/@uwdata/flechette/src/decode/table-from-ipc.js
function Ds(e, t) {
	return Os(Cs(e), t);
}
function Os(e, t = {}) {
	let { schema: n = { fields: [] }, dictionaries: r, records: i, dictsBeforeRecord: a } = e, { version: o, fields: s } = n, c = new Map(), l = As(t, o, c), u = new Map();
	ks(n, (e) => {
		let t = e.type;
		t.typeId === Q.Dictionary && u.set(t.id, t.dictionary);
	});
	let d = (e) => {
		let { id: t, data: n, isDelta: r, body: i } = e, a = u.get(t), o = Ms(a, l({
			...n,
			body: i
		})), s = c.get(t);
		if (s) r ? c.set(t, new Ko([...s.data, o], a)) : c.set(t, new Ko([o], a));
		else {
			if (r) throw Error("Delta update can not be first dictionary batch.");
			c.set(t, new Ko([o], a));
		}
	}, f = s.map((e) => Go(e.type)), p = 0;
	for (let e = 0; e < i.length; e++) {
		let t = a ? a[e] : r.length;
		for (; p < t;) d(r[p++]);
		let n = l(i[e]);
		s.forEach((e, t) => f[t].add(Ms(e.type, n)));
	}
	for (; p < r.length;) d(r[p++]);
	return new Xo(n, f.map((e) => e.done()), t.useProxy);
}
function ks(e, t) {
	e.fields.forEach(function e(n) {
		t(n), n.type.dictionary?.children?.forEach(e), n.type.children?.forEach(e);
	});
}
function As(e, t, n) {
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
				let { bytes: t, length: n, offset: r } = js(s, i[++l], a);
				return e ? new e(t.buffer, t.byteOffset + r, n / e.BYTES_PER_ELEMENT) : t.subarray(r, r + n);
			},
			variadic: () => o[++u],
			visit(e) {
				return e.map((e) => Ms(e.type, this));
			}
		};
	};
}
function js(e, t, n) {
	if (!n) return {
		bytes: e,
		...t
	};
	if (n.method !== ji.BUFFER) throw Error(`Unknown compression method (${n.method})`);
	{
		let r = n.codec, i = is(r);
		if (!i) throw Error(ns(r));
		return as(e, t, i);
	}
}
function Ms(e, t) {
	let { typeId: n } = e, { options: r, node: i, buffer: a, variadic: o, version: s } = t, c = Qo(e, r), l = {
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
		case Q.Union: return s < Ci.V5 && a(), new c({
			...l,
			typeIds: a(Ii),
			offsets: e.mode === ki.Sparse ? null : a(e.offsets),
			children: t.visit(e.children)
		});
		default: throw Error(Xi(n));
	}
}
new Uint16Array(new Uint8Array([1, 0]).buffer)[0];
// src/api.ts
var Ns = "tetrys-token";
function Ps() {
	let e = new URLSearchParams(location.hash.slice(1)).get("token");
	return e && (localStorage.setItem(Ns, e), history.replaceState(history.state, "", location.pathname + location.search)), e !== null;
}
var Fs = class extends Error {
	kind;
	constructor(e, t) {
		super(t), this.kind = e;
	}
};
async function Is(e, t, n) {
	let r = new URLSearchParams(t.map(([e, t]) => [e, String(t)])), i;
	try {
		i = await fetch(`/api/${e}?${r}`, {
			headers: { authorization: `Bearer ${localStorage.getItem(Ns) ?? ""}` },
			credentials: "omit",
			signal: n
		});
	} catch (e) {
		throw n?.aborted ? e : new Fs("Unavailable", "The viewer does not answer. Is its command still running?");
	}
	if (i.ok) return i;
	let a = await i.json().catch(() => null);
	throw new Fs(a?.error?.kind ?? "Unknown", a?.error?.message ?? `the server answered ${i.status}`);
}
async function Ls(e, t, n) {
	return (await Is(e, t, n)).json();
}
async function Rs(e, t, n) {
	let r = await Is(e, t, n);
	return new Bs(Ds(new Uint8Array(await r.arrayBuffer()), { useBigInt: !0 }));
}
async function zs(e, t, n, r) {
	let i = (await Is(e, t, r)).body.pipeThrough(new TextDecoderStream()).getReader(), a = "";
	for (;;) {
		let { done: e, value: t } = await i.read();
		if (e) {
			if (a) throw new Fs("Unavailable", "The answer ended before its time");
			return;
		}
		let r = (a + t).split("\n");
		a = r.pop();
		for (let e of r) {
			let t = JSON.parse(e);
			if (t.error) throw new Fs(t.error.kind, t.error.message);
			n(t);
		}
	}
}
var Bs = class {
	rows;
	types = new Map();
	masks = new Map();
	table;
	constructor(e) {
		this.table = e, this.rows = JSON.parse(e.schema.metadata?.get("tetrys.rows") ?? "[]");
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
function Vs(e, t) {
	let n = [["table", e]];
	for (let e of t.where) n.push(["where", e]);
	return t.sort && n.push(["sort", t.sort], ["descending", +!!t.descending]), t.only && n.push(["only", t.only.join(",")]), n;
}
// src/format.ts
var Hs = new Intl.NumberFormat("en"), Us = (e) => Hs.format(e), Ws = (e, t) => `${Us(e)} ${t}${e === 1 ? "" : "s"}`;
function Gs(e) {
	if (e < 1e3) return Ws(e, "byte");
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
function Ks(e) {
	if (!Number.isFinite(e)) return Number.isNaN(e) ? "NaN" : e > 0 ? "∞" : "−∞";
	if (Number.isInteger(e) && Math.abs(e) < 1e15) return String(e).replace("-", "−");
	let t = Math.abs(e);
	return (t >= 1e-4 && t < 1e9 ? String(Number(e.toPrecision(7))) : e.toExponential(4)).replace("-", "−");
}
var qs = {
	s: 1n,
	ms: 1000n,
	us: 1000000n,
	µs: 1000000n,
	ns: 1000000000n
};
function Js(e) {
	let t = /^timestamp\[(\w+|µs)/.exec(e);
	return t ? qs[t[1]] ?? null : null;
}
function Ys(e, t) {
	let n = Js(t) ?? 1n, r = e / n, i = e % n;
	i < 0n && (i += n, r -= 1n);
	let a = new Date(Number(r) * 1e3);
	if (Number.isNaN(a.getTime())) return `${e}`;
	let o = String(n).length - 1, s = o ? "." + String(i).padStart(o, "0") : "";
	return a.toISOString().slice(0, 19).replace("T", " ") + s.replace(/\.?0+$/, "") + (t.includes(",") ? "Z" : "");
}
function Xs(e, t) {
	let n = /\[(\w+|µs)\]/.exec(t)?.[1] ?? "s";
	return `${Ks(Number(e) / Number(qs[n] ?? 1n))} s`;
}
var Zs = (e) => /^([iu](8|16|32|64)|f(16|32|64)|bf16|bool)$/.test(e ?? ""), Qs = (e) => Zs(e) || /^(timestamp|date|duration)/.test(e ?? "");
function $s(e, t) {
	return e == null ? "null" : typeof e == "bigint" ? t.startsWith("timestamp") ? Ys(e, t) : t.startsWith("duration") ? Xs(e, t) : String(e).replace("-", "−") : typeof e == "number" ? t === "date" ? new Date(e * 864e5).toISOString().slice(0, 10) : Ks(t === "bf16" ? ac(e) : e) : typeof e == "boolean" ? e ? "true" : "false" : String(e);
}
var ec = 300;
function tc(e, t) {
	return e == null || typeof e == "bigint" && !/^[iu]/.test(t) || typeof e == "number" && !Number.isFinite(e) || typeof e == "string" && Array.from(e).length > ec ? null : typeof e == "bigint" || typeof e == "number" || typeof e == "boolean" ? t === "date" ? null : String(e) : `'${String(e).replaceAll("'", "''")}'`;
}
var nc = (e) => `"${e.replaceAll("\"", "\"\"")}"`, rc = new Float32Array(1), ic = new Uint32Array(rc.buffer);
function ac(e) {
	return ic[0] = e << 16, rc[0];
}
function oc(e) {
	if (!(e instanceof Uint8Array) || e.length < 12) return null;
	let t = (t, n) => String.fromCharCode(...e.subarray(t, n));
	return e[0] === 255 && e[1] === 216 && e[2] === 255 ? "image/jpeg" : t(0, 8) === "PNG\r\n\n" ? "image/png" : t(0, 4) === "RIFF" && t(8, 12) === "WEBP" ? "image/webp" : t(4, 8) === "ftyp" && /^avi[fs]$/.test(t(8, 12)) ? "image/avif" : null;
}
function sc(e, t) {
	let n = /\[([\d,?]*)\]$/.exec(t)?.[1];
	if (e == null || n === void 0 || /^(timestamp|duration)/.test(t)) return null;
	let r = e, i = r.data && r.shape ? r.data : e, a = r.data && r.shape ? Array.from(r.shape) : n.split(",").filter(Boolean).map(Number);
	return {
		values: t.startsWith("bf16[") ? Float32Array.from(i, ac) : i,
		shape: a
	};
}
function cc(e) {
	let t = 1e400, n = -1e400, r = 0, i = 0;
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
Ps(), addEventListener("hashchange", () => Ps() && location.reload());
var $ = new class {
	#e = R([]);
	get tables() {
		return K(this.#e);
	}
	set tables(e) {
		z(this.#e, e);
	}
	#t = R(0);
	get table() {
		return K(this.#t);
	}
	set table(e) {
		z(this.#t, e, !0);
	}
	#n = R(Bt([]));
	get where() {
		return K(this.#n);
	}
	set where(e) {
		z(this.#n, e, !0);
	}
	#r = R(null);
	get sort() {
		return K(this.#r);
	}
	set sort(e) {
		z(this.#r, e, !0);
	}
	#i = R(!1);
	get descending() {
		return K(this.#i);
	}
	set descending(e) {
		z(this.#i, e, !0);
	}
	#a = R(Bt([]));
	get hidden() {
		return K(this.#a);
	}
	set hidden(e) {
		z(this.#a, e, !0);
	}
	#o = R(0);
	get row() {
		return K(this.#o);
	}
	set row(e) {
		z(this.#o, e, !0);
	}
	#s = R("rows");
	get page() {
		return K(this.#s);
	}
	set page(e) {
		z(this.#s, e, !0);
	}
	#c = R(Bt([]));
	get flags() {
		return K(this.#c);
	}
	set flags(e) {
		z(this.#c, e, !0);
	}
	#l = R(!1);
	get flagged() {
		return K(this.#l);
	}
	set flagged(e) {
		z(this.#l, e, !0);
	}
	#u = R("");
	get said() {
		return K(this.#u);
	}
	set said(e) {
		z(this.#u, e, !0);
	}
	#d = I(() => this.tables[this.table]);
	get info() {
		return K(this.#d);
	}
	set info(e) {
		z(this.#d, e);
	}
	#f = I(() => ({
		where: this.where,
		sort: this.sort,
		descending: this.descending,
		only: this.flagged ? [...this.flags].sort((e, t) => e - t) : null
	}));
	get choice() {
		return K(this.#f);
	}
	set choice(e) {
		z(this.#f, e);
	}
	#p = I(() => Vs(this.table, this.choice));
	get parameters() {
		return K(this.#p);
	}
	set parameters(e) {
		z(this.#p, e);
	}
	constructor() {
		this.read(), addEventListener("popstate", () => this.read());
	}
	async load() {
		this.tables = (await Ls("tables", [])).tables, this.table >= this.tables.length && (this.table = 0);
	}
	read() {
		let e = new URLSearchParams(location.search), t = (t) => (e.get(t) ?? "").split(",").filter((e) => /^\d+$/.test(e)).map(Number);
		this.table = t("table")[0] ?? 0, this.where = e.getAll("where");
		let n = e.get("sort");
		this.sort = n ? n.replace(/^-/, "") : null, this.descending = n?.startsWith("-") ?? !1, this.hidden = e.getAll("hide"), this.row = t("row")[0] ?? 0, this.page = e.get("page") === "row" ? "row" : "rows", this.flags = t("flags"), this.flagged = e.get("only") === "flags";
	}
	write(e) {
		let t = [];
		this.table && t.push(["table", String(this.table)]), this.page === "row" && t.push(["page", "row"]), (this.row || this.page === "row") && t.push(["row", String(this.row)]);
		for (let e of this.where) t.push(["where", e]);
		this.sort && t.push(["sort", (this.descending ? "-" : "") + this.sort]);
		for (let e of this.hidden) t.push(["hide", e]);
		this.flags.length && t.push(["flags", this.flags.join(",")]), this.flagged && t.push(["only", "flags"]);
		let n = new URLSearchParams(t).toString(), r = location.pathname + (n ? `?${n}` : "");
		r !== location.pathname + location.search && (e ? history.pushState(null, "", r) : history.replaceState(null, "", r));
	}
	open(e) {
		this.row = e, this.page = "row", this.write(!0);
	}
	show(e) {
		this.page = e, this.write(!0);
	}
	step(e) {
		this.row = e, this.write(!1);
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
			flags: [],
			flagged: !1
		}), this.write(!0);
	}
}(), lc = q("<button class=\"quiet\">Columns</button>"), uc = q("<label><input type=\"checkbox\"/> <small> </small></label>"), dc = q("<div class=\"menu\" role=\"group\" aria-label=\"Columns\"></div>"), fc = q("<p>These rows are a selection in memory, which has no address.</p>"), pc = q("<section><h2> </h2> <button class=\"quiet\">Copy</button> <pre tabindex=\"0\"> </pre></section>"), mc = q("<!> <p>Store options are left out: they may be secret.</p>", 1), hc = q("<div class=\"menu wide\" role=\"group\" aria-label=\"Copy as\"><!></div>"), gc = q("<div class=\"menus\"><!> <button class=\"quiet\">Copy as</button> <!></div>");
function _c(e, t) {
	Pe(t, !0);
	let n = R(null), r = R(null), i;
	async function a(e) {
		z(n, K(n) === e ? null : e, !0), K(n) === "copy" && z(r, await Ls("copies", $.parameters).catch(() => null), !0);
	}
	async function o(e, t) {
		await navigator.clipboard.writeText(e).then(() => $.said = `Copied as ${t}`, () => $.said = "The browser does not allow copying"), setTimeout(() => $.said = "", 2500);
	}
	function s(e) {
		i?.contains(e.target) || z(n, null);
	}
	function c(e) {
		e.key === "Escape" && K(n) && (z(n, null), e.stopPropagation(), i.querySelector("button")?.focus());
	}
	let l = I(() => K(r) ? [
		["Python", K(r).python],
		["Rust", K(r).rust],
		["Command", K(r).command],
		["Save as view", K(r).view]
	] : []);
	var u = gc();
	ur("click", Ut, s);
	var d = B(u), f = (e) => {
		var t = lc();
		U(() => Z(t, "aria-expanded", K(n) === "columns")), dr("click", t, () => a("columns")), J(e, t);
	};
	X(d, (e) => {
		$.page === "rows" && e(f);
	});
	var p = H(d, 2), h = H(p, 2), g = (e) => {
		var t = dc();
		zr(t, 21, () => $.info?.index ?? [], Fr, (e, t) => {
			var n = uc(), r = B(n);
			li(r);
			var i = H(r), a = V(H(i), !0);
			N(n), U((e) => {
				di(r, e), Y(i, ` ${K(t).name ?? ""} `), Y(a, K(t).type);
			}, [() => !$.hidden.includes(K(t).name)]), dr("change", r, (e) => {
				$.hidden = e.currentTarget.checked ? $.hidden.filter((e) => e !== K(t).name) : [...$.hidden, K(t).name], $.write(!1);
			}), J(e, n);
		}), N(t), J(e, t);
	}, _ = (e) => {
		var t = hc(), n = B(t), r = (e) => {
			J(e, fc());
		}, i = (e) => {
			var t = mc();
			zr(Zt(t), 17, () => K(l), Fr, (e, t) => {
				var n = I(() => m(K(t), 2));
				let r = () => K(n)[0], i = () => K(n)[1];
				var a = Cr(), s = Zt(a), c = (e) => {
					var t = pc(), n = B(t), a = V(n, !0), s = H(n, 2), c = V(H(s, 2), !0);
					N(t), U(() => {
						Y(a, r()), Y(c, i());
					}), dr("click", s, () => o(i(), r())), J(e, t);
				};
				X(s, (e) => {
					i() && e(c);
				}), J(e, a);
			}), ve(2), J(e, t);
		};
		X(n, (e) => {
			$.info?.selection ? e(r) : e(i, -1);
		}), N(t), J(e, t);
	};
	X(h, (e) => {
		K(n) === "columns" ? e(g) : K(n) === "copy" && e(_, 1);
	}), N(u), xi(u, (e) => i = e, () => i), U(() => Z(p, "aria-expanded", K(n) === "copy")), dr("keydown", u, c), dr("click", p, () => a("copy")), J(e, u), Fe();
}
fr([
	"keydown",
	"click",
	"change"
]);
// src/Path.svelte
var vc = xr("<circle r=\"5\"></circle>"), yc = q("<span> </span>"), bc = q("<figure class=\"path\"><svg role=\"img\"><path class=\"all\"></path><path class=\"past\"></path><!></svg> <figcaption><span> </span> <!></figcaption></figure>");
function xc(e, t) {
	Pe(t, !0);
	let n = I(() => {
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
	}), r = (e) => (e.x - K(n).west) / K(n).wide * 260, i = (e) => 260 - (e.y - K(n).south) / K(n).wide * 260, a = (e) => e.map((e, t) => `${t ? "L" : "M"}${r(e).toFixed(1)} ${i(e).toFixed(1)}`).join(""), o = I(() => t.places.filter((e) => e.row <= t.row)), s = I(() => K(o).at(-1) ?? t.places[0]);
	var c = bc(), l = B(c);
	Z(l, "viewBox", "0 0 260 260");
	var u = B(l), d = H(u), f = H(d), p = (e) => {
		var t = vc();
		U((e, n) => {
			Z(t, "cx", e), Z(t, "cy", n);
		}, [() => r(K(s)), () => i(K(s))]), J(e, t);
	};
	X(f, (e) => {
		K(s) && e(p);
	}), N(l);
	var m = H(l, 2), h = B(m), g = V(h), _ = H(h, 2), v = (e) => {
		var t = yc(), n = V(t);
		U((e, t) => Y(n, `${e ?? ""}, ${t ?? ""}`), [() => Ks(K(s).x), () => Ks(K(s).y)]), J(e, t);
	};
	X(_, (e) => {
		K(s) && e(v);
	}), N(m), N(c), U((e, n) => {
		Z(l, "aria-label", `${t.name ?? ""}: the path from above`), Z(u, "d", e), Z(d, "d", n), Y(g, `${t.name ?? ""}, from above`);
	}, [() => a(t.places), () => a(K(o))]), J(e, c), Fe();
}
// src/Pictures.svelte
var Sc = q("<button class=\"enlarge\"><img/></button>"), Cc = q("<p class=\"absent tall\"> </p>"), wc = q("<span class=\"absent\" title=\"outside the sequence\">none</span>"), Tc = q("<img alt=\"\"/>"), Ec = q("<span class=\"absent\">null</span>"), Dc = q("<button><!></button>"), Oc = q("<li><!> <small> </small></li>"), kc = q("<ol></ol>"), Ac = q("<button aria-label=\"Close\"><img/></button>"), jc = q("<figure class=\"picture\"><!> <!> <figcaption><span> </span><span> </span></figcaption></figure> <dialog><!></dialog>", 1);
function Mc(e, t) {
	Pe(t, !0);
	let n = R(void 0), r = R(""), i = [];
	function a(e) {
		let t = oc(e);
		if (!t) return null;
		let n = URL.createObjectURL(new Blob([e], { type: t }));
		return i.push(n), {
			address: n,
			bytes: e.length
		};
	}
	let o = R(null), s = R([]);
	un(() => {
		let e = i;
		i = [], z(o, a(t.batch.value(t.name, 0))), z(s, t.strip ? t.strip.rows.map((e, n) => ({
			row: e,
			offset: n - t.before,
			shown: t.strip.there(t.name, n) ? a(t.strip.value(t.name, n)) : null
		})) : []), setTimeout(() => e.forEach((e) => URL.revokeObjectURL(e)), 500);
	}), un(() => () => i.forEach((e) => URL.revokeObjectURL(e)));
	var c = jc(), l = Zt(c), u = B(l), d = (e) => {
		var i = Sc(), a = V(i);
		U(() => {
			Z(i, "aria-label", `Enlarge ${t.name ?? ""}`), Z(a, "src", K(o).address), Z(a, "alt", `${t.name ?? ""} of row ${$.row ?? ""}`);
		}), dr("click", i, () => K(n)?.showModal()), ur("load", a, (e) => {
			let t = e.currentTarget;
			z(r, `${t.naturalWidth} × ${t.naturalHeight}`);
		}), ur("error", a, () => z(r, "the browser cannot show it")), cr(a), J(e, i);
	}, f = (e) => {
		var n = Cc(), r = V(n, !0);
		U((e) => Y(r, e), [() => t.batch.value(t.name, 0) === null ? "null" : "no picture"]), J(e, n);
	};
	X(u, (e) => {
		K(o) ? e(d) : e(f, -1);
	});
	var p = H(u, 2), m = (e) => {
		var n = kc();
		let r;
		zr(n, 21, () => K(s), (e) => e.offset, (e, t) => {
			var n = Oc(), r = B(n), i = (e) => {
				J(e, wc());
			}, a = (e) => {
				var n = Dc();
				let r;
				var i = B(n), a = (e) => {
					var n = Tc();
					U(() => Z(n, "src", K(t).shown.address)), J(e, n);
				}, o = (e) => {
					J(e, Ec());
				};
				X(i, (e) => {
					K(t).shown ? e(a) : e(o, -1);
				}), N(n), U(() => {
					n.disabled = $.info?.view || $.info?.selection || K(t).offset === 0, Z(n, "aria-label", `Offset ${K(t).offset ?? ""}`), r = Xr(n, 1, "", null, r, { here: K(t).offset === 0 });
				}), dr("click", n, () => $.step($.row + K(t).offset)), J(e, n);
			};
			X(r, (e) => {
				K(t).row === null ? e(i) : e(a, -1);
			});
			var o = V(H(r, 2));
			N(n), U(() => Y(o, `${K(t).offset > 0 ? "+" : ""}${(K(t).offset || "row") ?? ""}`)), J(e, n);
		}), N(n), U(() => {
			r = Xr(n, 1, "strip", null, r, { stale: t.isStale }), Z(n, "aria-label", `Neighbours of ${t.name ?? ""}`);
		}), J(e, n);
	};
	X(p, (e) => {
		K(s).length && e(m);
	});
	var h = H(p, 2), g = B(h), _ = V(g, !0), v = V(H(g));
	N(h), N(l);
	var y = H(l, 2), b = B(y), x = (e) => {
		var r = Ac();
		Ke(r, !0);
		var i = V(r);
		U(() => {
			Z(i, "src", K(o).address), Z(i, "alt", `${t.name ?? ""} of row ${$.row ?? ""}, enlarged`);
		}), dr("click", r, () => K(n)?.close()), J(e, r);
	};
	X(b, (e) => {
		K(o) && e(x);
	}), N(y), xi(y, (e) => z(n, e), () => K(n)), U((e) => {
		Y(_, t.name), Y(v, `${K(r) ?? ""}${e ?? ""}`), Z(y, "aria-label", t.name);
	}, [() => K(o) ? ` · ${Gs(K(o).bytes)}` : ""]), J(e, c), Fe();
}
fr(["click"]);
// node_modules/uplot/dist/uPlot.esm.js
var Nc = !0, Pc = "uplot", Fc = "u-hz", Ic = "u-vt", Lc = "u-title", Rc = "u-wrap", zc = "u-under", Bc = "u-over", Vc = "u-axis", Hc = "u-off", Uc = "u-select", Wc = "u-cursor-x", Gc = "u-cursor-y", Kc = "u-cursor-pt", qc = "u-legend", Jc = "u-live", Yc = "u-inline", Xc = "u-series", Zc = "u-marker", Qc = "u-label", $c = "u-value", el = "width", tl = "height", nl = "top", rl = "bottom", il = "left", al = "right", ol = "#000", sl = "#0000", cl = "mousemove", ll = "mousedown", ul = "mouseup", dl = "mouseenter", fl = "mouseleave", pl = "dblclick", ml = "resize", hl = "scroll", gl = "change", _l = "dppxchange", vl = "--", yl = typeof window < "u", bl = yl ? document : null, xl = yl ? window : null, Sl = yl ? navigator : null, Cl, wl;
function Tl() {
	let e = devicePixelRatio;
	Cl != e && (Cl = e, wl && Bl(gl, wl, Tl), wl = matchMedia(`(min-resolution: ${Cl - .001}dppx) and (max-resolution: ${Cl + .001}dppx)`), zl(gl, wl, Tl), xl.dispatchEvent(new CustomEvent(_l)));
}
function El(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function Dl(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function Ol(e, t, n) {
	e.style[t] = n + "px";
}
function kl(e, t, n, r) {
	let i = bl.createElement(e);
	return t != null && El(i, t), n?.insertBefore(i, r), i;
}
function Al(e, t) {
	return kl("div", e, t);
}
var jl = new WeakMap();
function Ml(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != jl.get(e) && (e.style.transform = a, jl.set(e, a), t < 0 || n < 0 || t > r || n > i ? El(e, Hc) : Dl(e, Hc));
}
var Nl = new WeakMap();
function Pl(e, t, n) {
	let r = t + n;
	r != Nl.get(e) && (Nl.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var Fl = new WeakMap();
function Il(e, t, n, r) {
	let i = t + "" + n;
	i != Fl.get(e) && (Fl.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var Ll = { passive: !0 }, Rl = {
	...Ll,
	capture: !0
};
function zl(e, t, n, r) {
	t.addEventListener(e, n, r ? Rl : Ll);
}
function Bl(e, t, n, r) {
	t.removeEventListener(e, n, Ll);
}
yl && Tl();
function Vl(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 0x7fffffff;
	for (; r - n > 1;) i = a ? n + r >> 1 : lu((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function Hl(e) {
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
var Ul = (e) => e != null, Wl = (e) => e != null && e > 0, Gl = Hl(Ul), Kl = Hl(Wl);
function ql(e, t, n, r = 0, i = !1) {
	let a = i ? Kl : Gl, o = i ? Wl : Ul;
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
	return [s ?? bu, c ?? -bu];
}
function Jl(e, t, n, r) {
	let i = hu(e), a = hu(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? gu : _u, s = i == 1 ? lu : du, c = a == 1 ? du : lu, l = s(o(cu(e))), u = c(o(cu(t))), d = mu(n, l), f = mu(n, u);
	return n == 10 && (l < 0 && (d = Iu(d, -l)), u < 0 && (f = Iu(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = Fu(e, d), t = Pu(t, f)), [e, t];
}
function Yl(e, t, n, r) {
	let i = Jl(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var Xl = .1, Zl = {
	mode: 3,
	pad: Xl
}, Ql = {
	pad: 0,
	soft: null,
	mode: 0
}, $l = {
	min: Ql,
	max: Ql
};
function eu(e, t, n, r) {
	return qu(n) ? ru(e, t, n) : (Ql.pad = n, Ql.soft = r ? 0 : null, Ql.mode = r ? 3 : 0, ru(e, t, $l));
}
function tu(e, t) {
	return e ?? t;
}
function nu(e, t, n) {
	for (t = tu(t, 0), n = tu(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function ru(e, t, n) {
	let r = n.min, i = n.max, a = tu(r.pad, 0), o = tu(i.pad, 0), s = tu(r.hard, -bu), c = tu(i.hard, bu), l = tu(r.soft, bu), u = tu(i.soft, -bu), d = tu(r.mode, 0), f = tu(i.mode, 0), p = t - e, m = gu(p), h = pu(cu(e), cu(t)), g = cu(gu(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != bu && (a = 0), f == 2 && u != -bu && (o = 0)));
	let _ = p || h || 1e3, v = mu(10, lu(gu(_))), y = Iu(Fu(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : bu, x = pu(s, y < b && e >= b ? b : fu(b, y)), S = Iu(Pu(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -bu, w = fu(c, S > C && t <= C ? C : pu(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var iu = new Intl.NumberFormat(yl ? Sl.language : "en-US"), au = (e) => iu.format(e), ou = Math, su = ou.PI, cu = ou.abs, lu = ou.floor, uu = ou.round, du = ou.ceil, fu = ou.min, pu = ou.max, mu = ou.pow, hu = ou.sign, gu = ou.log10, _u = ou.log2, vu = (e, t = 1) => ou.sinh(e) * t, yu = (e, t = 1) => ou.asinh(e / t), bu = 1e400;
function xu(e) {
	return (gu((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function Su(e, t, n) {
	return fu(pu(e, t), n);
}
function Cu(e) {
	return typeof e == "function";
}
function wu(e) {
	return Cu(e) ? e : () => e;
}
var Tu = () => {}, Eu = (e) => e, Du = (e, t) => t, Ou = (e) => null, ku = (e) => !0, Au = (e, t) => e == t, ju = /\.\d*?(?=9{6,}|0{6,})/gm, Mu = (e) => {
	if (Wu(e) || Lu.has(e)) return e;
	let t = `${e}`, n = t.match(ju);
	if (n == null) return e;
	let r = n[0].length - 1;
	if (t.indexOf("e-") != -1) {
		let [e, n] = t.split("e");
		return +`${Mu(e)}e${n}`;
	}
	return Iu(e, r);
};
function Nu(e, t) {
	return Mu(Iu(Mu(e / t)) * t);
}
function Pu(e, t) {
	return Mu(du(Mu(e / t)) * t);
}
function Fu(e, t) {
	return Mu(lu(Mu(e / t)) * t);
}
function Iu(e, t = 0) {
	if (Wu(e)) return e;
	let n = 10 ** t;
	return uu(e * n * (1 + 2 ** -52)) / n;
}
var Lu = new Map();
function Ru(e) {
	return (("" + e).split(".")[1] || "").length;
}
function zu(e, t, n, r) {
	let i = [], a = r.map(Ru);
	for (let o = t; o < n; o++) {
		let t = cu(o), n = Iu(mu(e, o), t);
		for (let s = 0; s < r.length; s++) {
			let c = e == 10 ? +`${r[s]}e${o}` : r[s] * n, l = (o >= 0 ? 0 : t) + (o >= a[s] ? 0 : a[s]), u = e == 10 ? c : Iu(c, l);
			i.push(u), Lu.set(u, l);
		}
	}
	return i;
}
var Bu = {}, Vu = [], Hu = [null, null], Uu = Array.isArray, Wu = Number.isInteger, Gu = (e) => e === void 0;
function Ku(e) {
	return typeof e == "string";
}
function qu(e) {
	let t = !1;
	if (e != null) {
		let n = e.constructor;
		t = n == null || n == Object;
	}
	return t;
}
function Ju(e) {
	return typeof e == "object" && !!e;
}
var Yu = Object.getPrototypeOf(Uint8Array), Xu = "__proto__";
function Zu(e, t = qu) {
	let n;
	if (Uu(e)) {
		let r = e.find((e) => e != null);
		if (Uu(r) || t(r)) {
			n = Array(e.length);
			for (let r = 0; r < e.length; r++) n[r] = Zu(e[r], t);
		} else n = e.slice();
	} else if (e instanceof Yu) n = e.slice();
	else if (t(e)) {
		n = {};
		for (let r in e) r != Xu && (n[r] = Zu(e[r], t));
	} else n = e;
	return n;
}
function Qu(e) {
	let t = arguments;
	for (let n = 1; n < t.length; n++) {
		let r = t[n];
		for (let t in r) t != Xu && (qu(e[t]) ? Qu(e[t], Zu(r[t])) : e[t] = Zu(r[t]));
	}
	return e;
}
var $u = 0, ed = 1, td = 2;
function nd(e, t, n) {
	for (let r = 0, i, a = -1; r < t.length; r++) {
		let o = t[r];
		if (o > a) {
			for (i = o - 1; i >= 0 && e[i] == null;) e[i--] = null;
			for (i = o + 1; i < n && e[i] == null;) e[a = i++] = null;
		}
	}
}
var rd = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function id(e) {
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
function ad(e) {
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
function od(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = pu(1, lu((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var sd = [
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
], cd = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function ld(e) {
	return e.slice(0, 3);
}
var ud = cd.map(ld), dd = {
	MMMM: sd,
	MMM: sd.map(ld),
	WWWW: cd,
	WWW: ud
};
function fd(e) {
	return (e < 10 ? "0" : "") + e;
}
function pd(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var md = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => fd(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => fd(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => fd(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => fd(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => fd(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => pd(e.getMilliseconds())
};
function hd(e, t) {
	t ||= dd;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? md[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var gd = new Intl.DateTimeFormat().resolvedOptions().timeZone, _d = (e) => e % 1 == 0, vd = [
	1,
	2,
	2.5,
	5
], yd = zu(10, -32, 0, vd), bd = zu(10, 0, 32, vd), xd = bd.filter(_d), Sd = yd.concat(bd), Cd = "\n", wd = "{YYYY}", Td = Cd + wd, Ed = "{M}/{D}", Dd = Cd + Ed, Od = Dd + "/{YY}", kd = "{aa}", Ad = "{h}:{mm}" + kd, jd = Cd + Ad, Md = ":{ss}", Nd = null;
function Pd(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? zu(10, 0, 3, vd).filter(_d) : zu(10, -3, 0, vd)).concat([
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
			wd,
			Nd,
			Nd,
			Nd,
			Nd,
			Nd,
			Nd,
			1
		],
		[
			i * 28,
			"{MMM}",
			Td,
			Nd,
			Nd,
			Nd,
			Nd,
			Nd,
			1
		],
		[
			i,
			Ed,
			Td,
			Nd,
			Nd,
			Nd,
			Nd,
			Nd,
			1
		],
		[
			r,
			"{h}" + kd,
			Od,
			Nd,
			Dd,
			Nd,
			Nd,
			Nd,
			1
		],
		[
			n,
			Ad,
			Od,
			Nd,
			Dd,
			Nd,
			Nd,
			Nd,
			1
		],
		[
			t,
			Md,
			Od + " " + Ad,
			Nd,
			Dd + " " + Ad,
			Nd,
			jd,
			Nd,
			1
		],
		[
			e,
			Md + ".{fff}",
			Od + " " + Ad,
			Nd,
			Dd + " " + Ad,
			Nd,
			jd,
			Nd,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = Iu(g * e, 3), v = Wd(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = Iu(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : Iu(Wd(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(uu(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = Wd(c + r * a, l + n * a, 1), s = o - t(Iu(o * e, 3));
					i = Iu((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (lu(l) - lu(_)) + Pu(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = Iu(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = lu(Iu(h + g, 6)) % 24, n = t(o).getHours() - e;
					n > 1 && (n = -1), o -= n * r, h = (h + g) % 24;
					let i = p[p.length - 1];
					Iu((o - i) / d, 3) * v >= .7 && p.push(o);
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
var [Fd, Id, Ld] = Pd(1), [Rd, zd, Bd] = Pd(.001);
zu(2, -53, 53, [1]);
function Vd(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function Hd(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function Ud(e, t) {
	let n = hd(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function Wd(e, t, n) {
	return new Date(e, t, n);
}
function Gd(e, t) {
	return t(e);
}
var Kd = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function qd(e, t) {
	return (n, r, i, a) => a == null ? vl : t(e(r));
}
function Jd(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function Yd(e, t) {
	return e.series[t].fill(e, t);
}
var Xd = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: Tu,
	markers: {
		show: !0,
		width: 2,
		stroke: Jd,
		fill: Yd,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function Zd(e, t) {
	let n = e.cursor.points, r = Al(), i = n.size(e, t);
	Ol(r, el, i), Ol(r, tl, i);
	let a = i / -2;
	Ol(r, "marginLeft", a), Ol(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && Ol(r, "borderWidth", o), r;
}
function Qd(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function $d(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function ef(e, t) {
	return e.series[t].points.size;
}
var tf = [0, 0];
function nf(e, t, n) {
	return tf[0] = t, tf[1] = n, tf;
}
function rf(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function af(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var of = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: nf,
	points: {
		one: !1,
		show: Zd,
		size: ef,
		width: 0,
		stroke: $d,
		fill: Qd
	},
	bind: {
		mousedown: rf,
		mouseup: rf,
		click: rf,
		dblclick: rf,
		mousemove: af,
		mouseleave: af,
		mouseenter: af
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
}, sf = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, cf = Qu({}, sf, { filter: Du }), lf = Qu({}, cf, { size: 10 }), uf = Qu({}, sf, { show: !1 }), df = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", ff = "bold " + df, pf = 1.5, mf = {
	show: !0,
	scale: "x",
	stroke: ol,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: ff,
	side: 2,
	grid: cf,
	ticks: lf,
	border: uf,
	font: df,
	lineGap: pf,
	rotate: 0
}, hf = "Value", gf = "Time", _f = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: bu,
	max: -1e400,
	idxs: []
};
function vf(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : au(e));
}
function yf(e, t, n, r, i, a, o) {
	let s = [], c = Lu.get(i) || 0;
	n = o ? n : Iu(Pu(n, i), c);
	for (let e = n; e <= r; e = Iu(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function bf(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = mu(c, lu((c == 10 ? gu : _u)(n))), c == 10 && (i = Sd[Vl(i, Sd)]);
	let l = n, u = i * c;
	c == 10 && (u = Sd[Vl(u, Sd)]);
	do
		s.push(l), l += i, c == 10 && !Lu.has(l) && (l = Iu(l, Lu.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = Sd[Vl(u, Sd)]));
	while (l <= r);
	return s;
}
function xf(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? bf(e, t, pu(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? bf(e, t, pu(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var Sf = /./, Cf = /[12357]/, wf = /[125]/, Tf = /1/, Ef = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function Df(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? Sf : c(7, o) - u >= l ? Cf : c(5, o) - u >= l ? wf : Tf;
	if (d == Tf) {
		let e = cu(c(1, o) - u);
		if (e < l) return Ef(t.slice().reverse(), s.distr, d, du(l / e)).reverse();
	}
	return Ef(t, s.distr, d, 1);
}
function Of(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = cu(c(1, o) - c(2, o));
	return l < s ? Ef(t.slice().reverse(), 3, Sf, du(s / l)).reverse() : t;
}
function kf(e, t, n, r) {
	return r == null ? vl : t == null ? "" : au(t);
}
var Af = {
	show: !0,
	scale: "y",
	stroke: ol,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: ff,
	side: 3,
	grid: cf,
	ticks: lf,
	border: uf,
	font: df,
	lineGap: pf,
	rotate: 0
};
function jf(e, t) {
	return Iu((3 + (e || 1) * 2) * t, 3);
}
function Mf(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = cu(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * Cl);
	return r[1] - r[0] <= o;
}
var Nf = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: bu,
	max: -1e400
}, Pf = (e, t, n, r, i) => i, Ff = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: Pf,
	alpha: 1,
	facets: [Qu({}, Nf, { scale: "x" }), Qu({}, Nf, { scale: "y" })]
}, If = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: Pf,
	alpha: 1,
	points: {
		show: Mf,
		filter: null
	},
	values: null,
	min: bu,
	max: -1e400,
	idxs: [],
	path: null,
	clip: null
};
function Lf(e, t, n, r, i) {
	return n / 10;
}
var Rf = {
	time: Nc,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, zf = Qu({}, Rf, {
	time: !1,
	ori: 1
}), Bf = {};
function Vf(e, t) {
	let n = Bf[e];
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
	}, e != null && (Bf[e] = n)), n;
}
var Hf = 1, Uf = 2;
function Wf(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, $f, tp, rp, ap, sp) : n(i, c, l, u, d, _, g, p, f, h, m, ep, np, ip, op, cp);
}
function Gf(e, t) {
	let n = 0, r = 0, i = tu(e.bands, Vu);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function Kf(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function qf(e, t, n, r, i, a) {
	return Wf(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? tp : np, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function Jf(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? rp : ip, c = n;
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
function Yf(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function Xf(e, t, n, r, i, a, o) {
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
function Zf(e) {
	return e == 0 ? Eu : e == 1 ? uu : (t) => Nu(t, e);
}
function Qf(e) {
	let t = e == 0 ? $f : ep, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = fu(c, o / 2, s / 2), l = fu(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var $f = (e, t, n) => {
	e.moveTo(t, n);
}, ep = (e, t, n) => {
	e.moveTo(n, t);
}, tp = (e, t, n) => {
	e.lineTo(t, n);
}, np = (e, t, n) => {
	e.lineTo(n, t);
}, rp = Qf(0), ip = Qf(1), ap = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, op = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, sp = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, cp = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function lp(e) {
	return (e, t, n, r, i) => Wf(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = $f, v = ap) : (_ = ep, v = op);
		let y = Iu(g.width * Cl, 3), b = (g.size - g.width) / 2 * Cl, x = Iu(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: ee, width: T, height: E } = e.bbox;
		rp(C, w - x, ee - x, T + x * 2, E + x * 2);
		let D = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, su * 2);
			}
		};
		if (i) i.forEach(D);
		else for (let e = n; e <= r; e++) D(e);
		return {
			stroke: y > 0 ? S : null,
			fill: S,
			clip: C,
			flags: 3
		};
	});
}
function up(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var dp = up(tp), fp = up(np);
function pp(e) {
	let t = tu(e?.alignGaps, 0);
	return (e, n, r, i) => Wf(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = Gl(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = tp, b = dp) : (y = np, b = fp);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Hf
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
		let [ee, T] = Gf(e, n);
		if (a.fill != null || ee != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, ee)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...Xf(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = Jf(l, c.ori, f, p, m, h);
		}
		return T != 0 && (S.band = T == 2 ? [qf(e, n, r, i, C, -1), qf(e, n, r, i, C, 1)] : qf(e, n, r, i, C, T)), S;
	});
}
function mp(e) {
	let t = tu(e.align, 1), n = tu(e.ascDesc, !1), r = tu(e.alignGaps, 0), i = tu(e.extend, !1);
	return (e, a, o, s) => Wf(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = Gl(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? tp : np, ee = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Hf
		}, T = ee.stroke, E = d.dir * (d.ori == 0 ? 1 : -1), D = C(u[E == 1 ? o : s]), te = S(l[E == 1 ? o : s]), ne = te, O = te;
		i && t == -1 && (O = b, w(T, O, D)), w(T, te, D);
		for (let e = E == 1 ? o : s; e >= o && e <= s; e += E) {
			let n = u[e];
			if (n == null) continue;
			let r = S(l[e]), i = C(n);
			t == 1 ? w(T, r, D) : w(T, ne, i), w(T, r, i), D = i, ne = r;
		}
		let re = ne;
		i && t == 1 && (re = b + x, w(T, re, D));
		let [ie, ae] = Gf(e, a);
		if (c.fill != null || ie != 0) {
			let t = ee.fill = new Path2D(T), n = C(c.fillTo(e, a, c.min, c.max, ie));
			w(t, re, n), w(t, O, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...Xf(l, u, o, s, E, S, r));
			let f = c.width * Cl / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), ee.gaps = i = c.gaps(e, a, o, s, i), ee.clip = Jf(i, d.ori, h, g, _, v);
		}
		return ae != 0 && (ee.band = ae == 2 ? [qf(e, a, o, s, T, -1), qf(e, a, o, s, T, 1)] : qf(e, a, o, s, T, ae)), ee;
	});
}
function hp(e, t, n, r, i, a, o = bu) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = 1e400; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = cu(e[c] - e[s]);
				t < l && (l = t, o = cu(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function gp(e) {
	e ||= Bu;
	let t = tu(e.size, [
		.6,
		bu,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = wu(i), o = 1 - t[0], s = tu(t[1], bu), c = tu(t[2], 1), l = tu(e.disp, Bu), u = tu(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => Wf(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let ee = m.pxRound, T = n, E = r * Cl, D = s * Cl, te = c * Cl, ne, O;
		_.ori == 0 ? [ne, O] = a(e, t) : [O, ne] = a(e, t);
		let re = _.dir * (_.ori == 0 ? 1 : -1), ie = _.ori == 0 ? rp : ip, ae = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, oe = tu(e.bands, Vu).find((e) => e.series[0] == t), se = oe == null ? 0 : oe.dir, ce = m.fillTo(e, t, m.min, m.max, se), le = ee(b(ce, v, w, S)), k, A, ue, de = C, fe = ee(m.width * Cl), pe = !1, me = null, j = null, he = null, M = null;
		d != null && (fe == 0 || f != null) && (pe = !0, me = d.values(e, t, i, p), j = new Map(), new Set(me).forEach((e) => {
			e != null && j.set(e, new Path2D());
		}), fe > 0 && (he = f.values(e, t, i, p), M = new Map(), new Set(he).forEach((e) => {
			e != null && M.set(e, new Path2D());
		})));
		let { x0: ge, size: _e } = l;
		if (ge != null && _e != null) {
			T = 1, h = ge.values(e, t, i, p), ge.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = _e.values(e, t, i, p);
			A = _e.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), de = hp(h, g, y, _, C, x, de), ue = de - A + E;
		} else de = hp(h, g, y, _, C, x, de), ue = de * o + E, A = de - ue;
		ue < 1 && (ue = 0), fe >= A / 2 && (fe = 0), ue < 5 && (ee = Eu);
		let N = ue > 0, ve = de - ue - (N ? fe : 0);
		A = ee(Su(ve, te, D)), k = (T == 0 ? A / 2 : T == re ? 0 : A) - T * re * ((T == 0 ? E / 2 : 0) + (N ? fe / 2 : 0));
		let ye = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, be = pe ? null : new Path2D(), xe = null;
		if (oe != null) xe = e.data[oe.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), xe = n.values(e, t, i, p));
		}
		let Se = ne * A, Ce = O * A;
		for (let n = re == 1 ? i : p; n >= i && n <= p; n += re) {
			let r = g[n];
			if (r == null) continue;
			if (xe != null) {
				let e = xe[n] ?? 0;
				if (r - e == 0) continue;
				le = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(tu(r, ce), v, w, S), o = ee(i - k), s = ee(pu(a, le)), c = ee(fu(a, le)), u = s - c;
			if (r != null) {
				let i = r < 0 ? Ce : Se, a = r < 0 ? Se : Ce;
				pe ? (fe > 0 && he[n] != null && ie(M.get(he[n]), o, c + lu(fe / 2), A, pu(0, u - fe), i, a), me[n] != null && ie(j.get(me[n]), o, c + lu(fe / 2), A, pu(0, u - fe), i, a)) : ie(be, o, c + lu(fe / 2), A, pu(0, u - fe), i, a), ae(e, t, n, o - fe / 2, c, A + fe, u);
			}
		}
		return fe > 0 ? ye.stroke = pe ? M : be : pe || (ye._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, ye.width = 0), ye.fill = pe ? j : be, ye;
	});
}
function _p(e, t) {
	let n = tu(t?.alignGaps, 0);
	return (t, r, i, a) => Wf(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = Gl(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = $f, S = tp, x = sp) : (b = ep, S = np, x = cp);
		let C = l.dir * (l.ori == 0 ? 1 : -1), w = v(s[C == 1 ? i : a]), ee = w, T = [], E = [];
		for (let e = C == 1 ? i : a; e >= i && e <= a; e += C) if (c[e] != null) {
			let t = v(s[e]);
			T.push(ee = t), E.push(y(c[e]));
		}
		let D = {
			stroke: e(T, E, b, S, x, _),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Hf
		}, te = D.stroke, [ne, O] = Gf(t, r);
		if (o.fill != null || ne != 0) {
			let e = D.fill = new Path2D(te), n = y(o.fillTo(t, r, o.min, o.max, ne));
			S(e, ee, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...Xf(s, c, i, a, C, v, n)), D.gaps = e = o.gaps(t, r, i, a, e), D.clip = Jf(e, l.ori, p, m, h, g);
		}
		return O != 0 && (D.band = O == 2 ? [qf(t, r, i, a, te, -1), qf(t, r, i, a, te, 1)] : qf(t, r, i, a, te, O)), D;
	});
}
function vp(e) {
	return _p(yp, e);
}
function yp(e, t, n, r, i, a) {
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
var bp = new Set();
function xp() {
	for (let e of bp) e.syncRect(!0);
}
yl && (zl(ml, xl, xp), zl(hl, xl, xp, !0), zl(_l, xl, () => {
	Lp.pxRatio = Cl;
}));
var Sp = pp(), Cp = lp();
function wp(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => Ep(e, r, t, n));
}
function Tp(e, t) {
	return e.map((e, n) => n == 0 ? {} : Qu({}, t, e));
}
function Ep(e, t, n, r) {
	return Qu({}, t == 0 ? n : r, e);
}
function Dp(e, t, n) {
	return t == null ? Hu : [t, n];
}
var Op = Dp;
function kp(e, t, n) {
	return t == null ? Hu : eu(t, n, Xl, !0);
}
function Ap(e, t, n, r) {
	return t == null ? Hu : Jl(t, n, e.scales[r].log, !1);
}
var jp = Ap;
function Mp(e, t, n, r) {
	return t == null ? Hu : Yl(t, n, e.scales[r].log, !1);
}
var Np = Mp;
function Pp(e, t, n, r, i) {
	let a = pu(xu(e), xu(t)), o = t - e, s = Vl(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? Lu.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function Fp(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = uu((n = +r) * Cl)) + "px"), [
		e,
		t,
		n
	];
}
function Ip(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = Iu(e[2] * Cl, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function Lp(e, t, n) {
	let r = { mode: tu(e.mode, 1) }, i = r.mode;
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
	let l = r.root = Al(Pc);
	if (e.id != null && (l.id = e.id), El(l, e.class), e.title) {
		let t = Al(Lc, l);
		t.textContent = e.title;
	}
	let u = kl("canvas"), d = r.ctx = u.getContext("2d"), f = Al(Rc, l);
	zl("click", f, (e) => {
		e.target === m && (tn != H || nn != Qt) && an.click(r, e);
	}, !0);
	let p = r.under = Al(zc, f);
	f.appendChild(u);
	let m = r.over = Al(Bc, f);
	e = Zu(e);
	let h = +tu(e.pxAlign, 1), g = Zf(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? wp(e.series || [], _f, If, !1) : Tp(e.series || [null], Ff), y = r.axes = wp(e.axes || [], mf, Af, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = wu(e.fill || null), e.dir = tu(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: zt,
		series: At
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function ee(e) {
		let t = e.distr == 3 ? (t) => gu(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => yu(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
		return (n) => {
			let r = t(n), { _min: i, _max: a } = e, o = a - i;
			return (r - i) / o;
		};
	}
	function T(t) {
		let n = b[t];
		if (n == null) {
			let r = (e.scales || Bu)[t] || Bu;
			if (r.from != null) {
				T(r.from);
				let e = Qu({}, b[r.from], r, { key: t });
				e.valToPct = ee(e), b[t] = e;
			} else {
				n = b[t] = Qu({}, t == S ? Rf : zf, r), n.key = t;
				let e = n.time, a = n.range, o = Uu(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? Zl : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? Zl : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && qu(a))) {
					let e = a;
					a = (t, n, r) => n == null ? Hu : eu(n, r, e);
				}
				n.range = wu(a || (e ? Op : t == S ? n.distr == 3 ? jp : n.distr == 4 ? Np : Dp : n.distr == 3 ? Ap : n.distr == 4 ? Mp : kp)), n.auto = wu(!o && n.auto), n.clamp = wu(n.clamp || Lf), n._min = n._max = null, n.valToPct = ee(n);
			}
		}
	}
	T("x"), T("y"), i == 1 && v.forEach((e) => {
		T(e.scale);
	}), y.forEach((e) => {
		T(e.scale);
	});
	for (let t in e.scales) T(t);
	let E = b[S], D = E.distr, te, ne;
	E.ori == 0 ? (El(l, Fc), te = a, ne = o) : (El(l, Ic), te = o, ne = a);
	let O = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (O[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let re = e.tzDate || ((e) => new Date(uu(e / _))), ie = e.fmtDate || hd, ae = _ == 1 ? Ld(re) : Bd(re), oe = Hd(re, Vd(_ == 1 ? Id : zd, ie)), se = qd(re, Gd(Kd, ie)), ce = [], le = r.legend = Qu({}, Xd, e.legend), k = r.cursor = Qu({}, of, { drag: { y: i == 2 } }, e.cursor), A = le.show, ue = k.show, de = le.markers;
	le.idxs = ce, de.width = wu(de.width), de.dash = wu(de.dash), de.stroke = wu(de.stroke), de.fill = wu(de.fill);
	let fe, pe, me, j = [], he = [], M, ge = !1, _e = {};
	if (le.live) {
		let e = v[1] ? v[1].values : null;
		ge = e != null, M = ge ? e(r, 1, 0) : { _: 0 };
		for (let e in M) _e[e] = vl;
	}
	if (A) {
		if (fe = kl("table", qc, l), me = kl("tbody", null, fe), le.mount(r, fe), ge) {
			pe = kl("thead", null, fe, me);
			let e = kl("tr", null, pe);
			for (var N in kl("th", null, e), M) kl("th", Qc, e).textContent = N;
		} else El(fe, Yc), le.live && El(fe, Jc);
	}
	let ve = { show: !0 }, ye = { show: !1 };
	function be(e, t) {
		if (t == 0 && (ge || !le.live || i == 2)) return Hu;
		let n = [], a = kl("tr", Xc, me, me.childNodes[t]);
		El(a, e.class), e.show || El(a, Hc);
		let o = kl("th", null, a);
		if (de.show) {
			let e = Al(Zc, o);
			if (t > 0) {
				let n = de.width(r, t);
				n && (e.style.border = n + "px " + de.dash(r, t) + " " + de.stroke(r, t)), e.style.background = de.fill(r, t);
			}
		}
		let s = Al(Qc, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (de.show || (s.style.color = e.width > 0 ? de.stroke(r, t) : de.fill(r, t)), Se("click", o, (t) => {
			if (k._lock) return;
			qe(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != le.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && pn(r, e ? r == n ? ve : ye : ve, !0, Gn.setSeries);
				});
			} else pn(n, { show: !e.show }, !0, Gn.setSeries);
		}, !1), Xe && Se(dl, o, (t) => {
			k._lock || (qe(t), pn(v.indexOf(e), _n, !0, Gn.setSeries));
		}, !1)), M) {
			let e = kl("td", $c, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let xe = new Map();
	function Se(e, t, n, i = !0) {
		let a = xe.get(t) || {}, o = k.bind[e](r, t, n, i);
		o && (zl(e, t, a[e] = o), xe.set(t, a));
	}
	function Ce(e, t, n) {
		let r = xe.get(t) || {};
		for (let n in r) (e == null || n == e) && (Bl(n, t, r[n]), delete r[n]);
		e ?? xe.delete(t);
	}
	let we = 0, Te = 0, P = 0, F = 0, Ee = 0, De = 0, Oe = Ee, ke = De, Ae = P, je = F, Me = 0, Ne = 0, Pe = 0, Fe = 0;
	r.bbox = {};
	let Ie = !1, Le = !1, Re = !1, ze = !1, Be = !1, Ve = !1;
	function He(e, t, n) {
		(n || e != r.width || t != r.height) && Ue(e, t), Bt(!1), Re = !0, Le = !0, Gt();
	}
	function Ue(e, t) {
		r.width = we = P = e, r.height = Te = F = t, Ee = De = 0, Ge(), Ke();
		let n = r.bbox;
		Me = n.left = Nu(Ee * Cl, .5), Ne = n.top = Nu(De * Cl, .5), Pe = n.width = Nu(P * Cl, .5), Fe = n.height = Nu(F * Cl, .5);
	}
	function We() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = Lt(t), i = Rt(t);
			e = t == 3 || n && i, e || (Ue(r.width, r.height), Le = !0);
		}
	}
	r.setSize = function({ width: e, height: t }) {
		He(e, t);
	};
	function Ge() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (P -= c, a == 3 ? (Ee += c, r = !0) : n = !0) : (F -= c, a == 0 ? (De += c, e = !0) : t = !0));
			}
		}), rt[0] = e, rt[1] = n, rt[2] = t, rt[3] = r, P -= ot[1] + ot[3], Ee += ot[3], F -= ot[2] + ot[0], De += ot[0];
	}
	function Ke() {
		let e = Ee + P, t = De + F, n = Ee, r = De;
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
	if (k.dataIdx == null) {
		let e = k.hover, n = e.skip = new Set(e.skip ?? []);
		n.add(void 0);
		let r = e.prox = wu(e.prox), i = e.bias ??= 0;
		k.dataIdx = (e, a, o, s) => {
			if (a == 0) return o;
			let c = o, l = r(e, a, o, s) ?? bu, u = l >= 0 && l < bu, d = E.ori == 0 ? P : F, f = k.left, p = t[0], m = t[a];
			if (n.has(m[o])) {
				c = null;
				let e = null, t = null, r;
				if (i == 0 || i == -1) for (r = o; e == null && r-- > 0;) n.has(m[r]) || (e = r);
				if (i == 0 || i == 1) for (r = o; t == null && r++ < m.length;) n.has(m[r]) || (t = r);
				if (e != null || t != null) {
					if (u) {
						let n = e == null ? -1e400 : te(p[e], E, d, 0), r = t == null ? 1e400 : te(p[t], E, d, 0), i = f - n, a = r - f;
						i <= a ? i <= l && (c = e) : a <= l && (c = t);
					} else c = t == null ? e : e == null ? t : o - e <= t - o ? e : t;
				}
			} else u && cu(f - te(p[o], E, d, 0)) > l && (c = null);
			return c;
		};
	}
	let qe = (e) => {
		k.event = e;
	};
	k.idxs = ce, k._lock = !1;
	let Je = k.points;
	Je.show = wu(Je.show), Je.size = wu(Je.size), Je.stroke = wu(Je.stroke), Je.width = wu(Je.width), Je.fill = wu(Je.fill);
	let Ye = r.focus = Qu({}, e.focus || { alpha: .3 }, k.focus), Xe = Ye.prox >= 0, Ze = Xe && Je.one, Qe = [], $e = [], et = [];
	function tt(e, t) {
		let n = Je.show(r, t);
		if (n instanceof HTMLElement) return El(n, Kc), El(n, e.class), Ml(n, -10, -10, P, F), m.insertBefore(n, Qe[t]), n;
	}
	function nt(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? Ku(n) ? qd(re, Gd(n, ie)) : n || se : n || kf, e.label = e.label || (t ? gf : hf);
		}
		if (Ze || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || Sp || Ou, e.fillTo = wu(e.fillTo || Kf), e.pxAlign = +tu(e.pxAlign, h), e.pxRound = Zf(e.pxAlign), e.stroke = wu(e.stroke || null), e.fill = wu(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = jf(pu(1, e.width), 1), n = e.points = Qu({}, {
				size: t,
				width: pu(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: Cp,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = wu(n.show), n.filter = wu(n.filter), n.fill = wu(n.fill), n.stroke = wu(n.stroke), n.paths = wu(n.paths), n.pxAlign = e.pxAlign;
		}
		if (A) {
			let n = be(e, t);
			j.splice(t, 0, n[0]), he.splice(t, 0, n[1]), le.values.push(null);
		}
		if (ue) {
			ce.splice(t, 0, null);
			let n = null;
			Ze ? t == 0 && (n = tt(e, t)) : t > 0 && (n = tt(e, t)), Qe.splice(t, 0, n), $e.splice(t, 0, 0), et.splice(t, 0, 0);
		}
		Un("addSeries", t);
	}
	r.addSeries = function(e, t) {
		t ??= v.length, e = i == 1 ? Ep(e, t, _f, If) : Ep(e, t, {}, Ff), v.splice(t, 0, e), nt(v[t], t);
	}, r.delSeries = function(e) {
		if (v.splice(e, 1), A) {
			le.values.splice(e, 1), he.splice(e, 1);
			let t = j.splice(e, 1)[0];
			Ce(null, t.firstChild), t.remove();
		}
		ue && (ce.splice(e, 1), Qe.splice(e, 1)[0].remove(), $e.splice(e, 1), et.splice(e, 1)), Un("delSeries", e);
	};
	let rt = [
		!1,
		!1,
		!1,
		!1
	];
	function I(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = wu(e.size), e.space = wu(e.space), e.rotate = wu(e.rotate), Uu(e.incrs) && e.incrs.forEach((e) => {
				!Lu.has(e) && Lu.set(e, Ru(e));
			}), e.incrs = wu(e.incrs || (i.distr == 2 ? xd : a ? _ == 1 ? Fd : Rd : Sd)), e.splits = wu(e.splits || (a && i.distr == 1 ? ae : i.distr == 3 ? bf : i.distr == 4 ? xf : yf)), e.stroke = wu(e.stroke), e.grid.stroke = wu(e.grid.stroke), e.ticks.stroke = wu(e.ticks.stroke), e.border.stroke = wu(e.border.stroke);
			let o = e.values;
			e.values = Uu(o) && !Uu(o[0]) ? wu(o) : a ? Uu(o) ? Hd(re, Vd(o, ie)) : Ku(o) ? Ud(re, o) : o || oe : o || vf, e.filter = wu(e.filter || (i.distr >= 3 && i.log == 10 ? Df : i.distr == 3 && i.log == 2 ? Of : Du)), e.font = Fp(e.font), e.labelFont = Fp(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && (rt[t] = !0, e._el = Al(Vc, f));
		}
	}
	function it(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? uu(mf.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? uu(Af.size / 2) : 0), l;
	}
	let at = r.padding = (e.padding || [
		it,
		it,
		it,
		it
	]).map((e) => wu(tu(e, it))), ot = r._padding = at.map((e, t) => e(r, t, rt, 0)), st, ct = null, lt = null, ut = i == 1 ? v[0].idxs : null, L = null, dt = !1;
	function ft(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			st = 0;
			for (let e = 1; e < v.length; e++) st += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), L = t[0], st = L.length;
			let e = t;
			if (D == 2) {
				e = t.slice();
				let n = e[0] = Array(st);
				for (let e = 0; e < st; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (Bt(!0), Un("setData"), D == 2 && (Re = !0), n !== !1) {
			let e = E;
			e.auto(r, dt) ? pt() : fn(S, e.min, e.max), ze ||= k.left >= 0, Ve = !0, Gt();
		}
	}
	r.setData = ft;
	function pt() {
		dt = !0;
		let e, n;
		i == 1 && (st > 0 ? (ct = ut[0] = 0, lt = ut[1] = st - 1, e = t[0][ct], n = t[0][lt], D == 2 ? (e = ct, n = lt) : e == n && (D == 3 ? [e, n] = Jl(e, e, E.log, !1) : D == 4 ? [e, n] = Yl(e, e, E.log, !1) : E.time ? n = e + uu(86400 / _) : [e, n] = eu(e, n, Xl, !0))) : (ct = ut[0] = e = null, lt = ut[1] = n = null)), fn(S, e, n);
	}
	let mt, ht, gt, _t, vt, yt, bt, xt, St, Ct;
	function wt(e, t, n, r, i, a) {
		e ??= sl, n ??= Vu, r ??= "butt", i ??= sl, a ??= "round", e != mt && (d.strokeStyle = mt = e), i != ht && (d.fillStyle = ht = i), t != gt && (d.lineWidth = gt = t), a != vt && (d.lineJoin = vt = a), r != yt && (d.lineCap = yt = r), n != _t && d.setLineDash(_t = n);
	}
	function Tt(e, t, n, r) {
		t != ht && (d.fillStyle = ht = t), e != bt && (d.font = bt = e), n != xt && (d.textAlign = xt = n), r != St && (d.textBaseline = St = r);
	}
	function Et(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, dt) && (t == null || t.min == null)) {
			let t = tu(ct, 0), r = tu(lt, i.length - 1), o = n.min == null ? ql(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = fu(e.min, n.min = o[0]), e.max = pu(e.max, n.max = o[1]);
		}
	}
	let Dt = {
		min: null,
		max: null
	};
	function Ot() {
		for (let e in b) {
			let t = b[e];
			O[e] == null && (t.min == null || O[S] != null && t.auto(r, dt)) && (O[e] = Dt);
		}
		for (let e in b) {
			let t = b[e];
			O[e] == null && t.from != null && O[t.from] != null && (O[e] = Dt);
		}
		O[S] != null && Bt(!0);
		let e = {};
		for (let t in O) {
			let n = O[t];
			if (n != null) {
				let a = e[t] = Zu(b[t], Ju);
				if (n.min != null) Qu(a, n);
				else if (t != S || i == 2) {
					if (st == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = bu, a.max = -1e400;
				}
			}
		}
		if (st > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = O[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], ct = Vl(s.min, t[0]), lt = Vl(s.max, t[0]), lt - ct > 1 && (t[0][ct] < s.min && ct++, t[0][lt] > s.max && lt--), n.min = L[ct], n.max = L[lt];
					} else n.show && n.auto && Et(s, o, n, t[a], n.sorted);
					n.idxs[0] = ct, n.idxs[1] = lt;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && Et(u, O[o], r, c, r.sorted), d != null && Et(d, O[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = O[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == bu ? null : n.min, n.max == -1e400 ? null : n.max, t);
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
				i._min = e == 3 ? gu(i.min) : e == 4 ? yu(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? gu(i.max) : e == 4 ? yu(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) Re = !0, Un("setScale", e);
			ue && k.left >= 0 && (ze = Ve = !0);
		}
		for (let e in O) O[e] = null;
	}
	function kt(e) {
		let t = Su(ct - 1, 0, st - 1), n = Su(lt + 1, 0, st - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < st - 1;) n++;
		return [t, n];
	}
	function At() {
		if (st > 0) {
			let e = v.some((e) => e._focus) && Ct != Ye.alpha;
			e && (d.globalAlpha = Ct = Ye.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (jt(n, !1), jt(n, !0), e._paths == null)) {
					let a = Ct;
					Ct != e.alpha && (d.globalAlpha = Ct = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : kt(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), Ct != a && (d.globalAlpha = Ct = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = Ct;
					Ct != e.alpha && (d.globalAlpha = Ct = e.alpha), e._paths != null && R(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, ct, lt, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, ct, lt, a), R(t, !0));
					}
					Ct != n && (d.globalAlpha = Ct = n), Un("drawSeries", t);
				}
			}), e && (d.globalAlpha = Ct = 1);
		}
	}
	function jt(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function R(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = Iu(l * Cl, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = Me - l / 2, t = Ne - l / 2, n = Pe + l, r = Fe + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? z(s, l, n.dash, n.cap, c, r, i, o, a) : Mt(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function Mt(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || Bu).band;
				Uu(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && nu(g, ct, lt) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, z(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || z(n, i, a, o, s, c, l, u, d, f);
	}
	function z(e, t, n, r, i, a, o, s, c, l, u, f) {
		wt(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), Pt(i, o), Nt(e, a, t)) : s & Uf ? (Pt(i, o), d.clip(f), Nt(e, a, t)) : s & Hf && (d.save(), d.clip(f), u && d.clip(u), Pt(i, o), d.restore(), Nt(e, a, t)) : (Pt(i, o), Nt(e, a, t)), (c || l || f) && d.restore();
	}
	function Nt(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = mt = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function Pt(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = ht = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function Ft(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = Pp(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function It(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), wt(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function Lt(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, Bt(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, Bt(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = Ft(i, c, l, s == 0 ? P : F);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => L[e]) : p, h = a.distr == 2 ? L[p[1]] - L[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = du(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Rt(e) {
		let t = !0;
		return at.forEach((n, i) => {
			let a = n(r, i, rt, e);
			a != ot[i] && (t = !1), ot[i] = a;
		}), t;
	}
	function zt() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = uu((t._lpos + s) * Cl);
				Tt(t.labelFont[0], c, "center", n == 2 ? nl : rl), d.save(), i == 1 ? (a = o = 0, d.translate(p, uu(Ne + Fe / 2)), d.rotate((n == 3 ? -su : su) / 2)) : (a = uu(Me + Pe / 2), o = p);
				let m = Cu(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? Pe : Fe, h = i == 0 ? Me : Ne, _ = t._splits, v = p.distr == 2 ? _.map((e) => L[e]) : _, x = p.distr == 2 ? L[_[1]] - L[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, ee = uu(w * Cl), T = uu((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * Cl), E = t._rotate * -su / 180, D = g(t._pos * Cl), te = D + (ee + T) * l;
			o = i == 0 ? te : 0, a = i == 1 ? te : 0, Tt(t.font[0], c, t.align == 1 ? il : t.align == 2 ? al : E > 0 ? il : E < 0 ? al : i == 0 ? "center" : n == 3 ? al : il, E || i == 1 ? "middle" : n == 2 ? nl : rl);
			let ne = t.font[1] * t.lineGap, O = _.map((e) => g(s(e, p, m, h))), re = t._values;
			for (let e = 0; e < re.length; e++) {
				let t = re[e];
				if (t != null) {
					i == 0 ? a = O[e] : o = O[e], t = "" + t;
					let n = t.indexOf("\n") == -1 ? [t] : t.split(/\n/gm);
					for (let e = 0; e < n.length; e++) {
						let t = n[e];
						E ? (d.save(), d.translate(a, o + e * ne), d.rotate(E), d.fillText(t, 0, 0), d.restore()) : d.fillText(t, a, o + e * ne);
					}
				}
			}
			S.show && It(O, S.filter(r, v, e, f, x), i, n, D, ee, Iu(S.width * Cl, 3), S.stroke(r, e), S.dash, S.cap);
			let ie = t.grid;
			ie.show && It(O, ie.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? Ne : Me, i == 0 ? Fe : Pe, Iu(ie.width * Cl, 3), ie.stroke(r, e), ie.dash, ie.cap), C.show && It([D], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? Ne : Me, i == 1 ? Fe : Pe, Iu(C.width * Cl, 3), C.stroke(r, e), C.dash, C.cap);
		}
		Un("drawAxes");
	}
	function Bt(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Vt = !1, Ht = !1, Ut = [];
	function Wt() {
		Ht = !1;
		for (let e = 0; e < Ut.length; e++) Un(...Ut[e]);
		Ut.length = 0;
	}
	function Gt() {
		Vt ||= (rd(Kt), !0);
	}
	r.batch = function(e, t = !1) {
		Vt = !0, Ht = t, e(r), Kt(), t && Ut.length > 0 && queueMicrotask(Wt);
	};
	function Kt() {
		if (Ie &&= (Ot(), !1), Re &&= (We(), !1), Le) {
			if (Ol(p, il, Ee), Ol(p, nl, De), Ol(p, el, P), Ol(p, tl, F), Ol(m, il, Ee), Ol(m, nl, De), Ol(m, el, P), Ol(m, tl, F), Ol(f, el, we), Ol(f, tl, Te), u.width = uu(we * Cl), u.height = uu(Te * Cl), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						Ol(e, a ? "left" : "top", r - t), Ol(e, a ? "width" : "height", n), Ol(e, a ? "top" : "left", a ? De : Ee), Ol(e, a ? "height" : "width", a ? F : P), Dl(e, Hc);
					} else El(e, Hc);
				}
			}), mt = ht = gt = vt = yt = bt = xt = St = _t = null, Ct = 1, kn(!0), Ee != Oe || De != ke || P != Ae || F != je) {
				Bt(!1);
				let e = P / Ae, t = F / je;
				if (ue && !ze && k.left >= 0) {
					k.left *= e, k.top *= t, Xt && Ml(Xt, uu(k.left), 0, P, F), B && Ml(B, 0, uu(k.top), P, F);
					for (let n = 0; n < Qe.length; n++) {
						let r = Qe[n];
						r != null && ($e[n] *= e, et[n] *= t, Ml(r, du($e[n]), du(et[n]), P, F));
					}
				}
				if (cn.show && !Be && cn.left >= 0 && cn.width > 0) {
					cn.left *= e, cn.width *= e, cn.top *= t, cn.height *= t;
					for (let e in W) Ol(ln, e, cn[e]);
				}
				Oe = Ee, ke = De, Ae = P, je = F;
			}
			Un("setSize"), Le = !1;
		}
		we > 0 && Te > 0 && (d.clearRect(0, 0, u.width, u.height), Un("drawClear"), w.forEach((e) => e()), Un("draw")), cn.show && Be && (un(cn), Be = !1), ue && ze && (Dn(null, !0, !1), ze = !1), le.show && le.live && Ve && (Tn(), Ve = !1), c || (c = !0, r.status = 1, Un("ready")), dt = !1, Vt = !1;
	}
	r.redraw = (e, t) => {
		Re = t || !1, e === !1 ? Gt() : fn(S, E.min, E.max);
	};
	function qt(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (st == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (st > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && st > 0 && (n.min = Vl(n.min, t[0]), n.max = Vl(n.max, t[0]), n.min == n.max && n.max++), O[e] = n, Ie = !0, Gt();
		}
	}
	r.setScale = qt;
	let Jt, Yt, Xt, B, Zt, V, H, Qt, $t, en, tn, nn, rn = !1, an = k.drag, on = an.x, sn = an.y;
	ue && (k.x && (Jt = Al(Wc, m)), k.y && (Yt = Al(Gc, m)), E.ori == 0 ? (Xt = Jt, B = Yt) : (Xt = Yt, B = Jt), tn = k.left, nn = k.top);
	let cn = r.select = Qu({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), ln = cn.show ? Al(Uc, cn.over ? m : p) : null;
	function un(e, t) {
		if (cn.show) {
			for (let t in e) cn[t] = e[t], t in W && Ol(ln, t, e[t]);
			t !== !1 && Un("setSelect");
		}
	}
	r.setSelect = un;
	function dn(e) {
		if (v[e].show) A && Dl(j[e], Hc);
		else if (A && El(j[e], Hc), ue) {
			let t = Ze ? Qe[0] : Qe[e];
			t != null && Ml(t, -10, -10, P, F);
		}
	}
	function fn(e, t, n) {
		qt(e, {
			min: t,
			max: n
		});
	}
	function pn(e, t, n, a) {
		t.focus != null && vn(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, dn(r), i == 2 ? (fn(n.facets[0].scale, null, null), fn(n.facets[1].scale, null, null)) : fn(n.scale, null, null), Gt());
		}), n !== !1 && Un("setSeries", e, t), a && Jn("setSeries", r, e, t);
	}
	r.setSeries = pn, r.addBand = function(e, t) {
		e.fill = wu(e.fill || null), e.dir = tu(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}, r.setBand = function(e, t) {
		Qu(x[e], t);
	}, r.delBand = function(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	};
	function mn(e, t) {
		v[e].alpha = t, ue && Qe[e] != null && (Qe[e].style.opacity = t), A && j[e] && (j[e].style.opacity = t);
	}
	let hn, U, gn, _n = { focus: !0 };
	function vn(e) {
		if (e != gn) {
			let t = e == null, n = Ye.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && mn(a, i ? 1 : Ye.alpha);
				}
			}), gn = e, n && Gt();
		}
	}
	A && Xe && Se(fl, fe, (e) => {
		k._lock || (qe(e), gn != null && pn(null, _n, !0, Gn.setSeries));
	});
	function yn(e, t, n) {
		let r = b[t];
		n && (e = e / Cl - (r.ori == 1 ? De : Ee));
		let i = P;
		r.ori == 1 && (i = F, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? mu(10, c) : l == 4 ? vu(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	r.valToIdx = (e) => Vl(e, t[0]), r.posToIdx = function(e, n) {
		return Vl(yn(e, S, n), t[0], ct, lt);
	}, r.posToVal = yn, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? Pe : P, n ? Me : 0) : o(e, b[t], n ? Fe : F, n ? Ne : 0), r.setCursor = (e, t, n) => {
		tn = e.left, nn = e.top, Dn(null, t, n);
	};
	function bn(e, t) {
		Ol(ln, il, cn.left = e), Ol(ln, el, cn.width = t);
	}
	function xn(e, t) {
		Ol(ln, nl, cn.top = e), Ol(ln, tl, cn.height = t);
	}
	let Sn = E.ori == 0 ? bn : xn, Cn = E.ori == 1 ? bn : xn;
	function wn() {
		if (A && le.live) for (let e = +(i == 2); e < v.length; e++) {
			if (e == 0 && ge) continue;
			let t = le.values[e], n = 0;
			for (let r in t) he[e][n++].firstChild.nodeValue = t[r];
		}
	}
	function Tn(e, t) {
		if (e != null && (e.idxs ? e.idxs.forEach((e, t) => {
			ce[t] = e;
		}) : Gu(e.idx) || ce.fill(e.idx), le.idx = ce[0]), A && le.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !ge) && En(e, ce[e]);
			wn();
		}
		Ve = !1, t !== !1 && Un("setLegend");
	}
	r.setLegend = Tn;
	function En(e, n) {
		let i = v[e], a = e == 0 && D == 2 ? L : t[e], o;
		ge ? o = i.values(r, e, n) ?? _e : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? _e : { _: o }), le.values[e] = o;
	}
	function Dn(e, n, a) {
		$t = tn, en = nn, [tn, nn] = k.move(r, tn, nn), k.left = tn, k.top = nn, ue && (Xt && Ml(Xt, uu(tn), 0, P, F), B && Ml(B, 0, uu(nn), P, F));
		let o, s = ct > lt;
		hn = bu, U = null;
		let c = E.ori == 0 ? P : F, l = E.ori == 1 ? P : F;
		if (tn < 0 || st == 0 || s) {
			o = k.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = Qe[e];
				t != null && Ml(t, -10, -10, P, F);
			}
			Xe && pn(null, _n, !0, e == null && Gn.setSeries), le.live && (ce.fill(o), Ve = !0);
		} else {
			let e, n, a;
			i == 1 && (e = E.ori == 0 ? tn : nn, n = yn(e, S), o = k.idx = Vl(n, t[0], ct, lt), a = te(t[0][o], E, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = ce[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = k.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (Ve = Ve || S != y || x != _, ce[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : te(i == 1 ? t[0][x] : t[e][0][x], E, c, 0), _ = S == null ? -10 : ne(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if (Xe && S != null) {
						let t = E.ori == 1 ? tn : nn, n = cu(Ye.dist(r, e, x, _, t));
						if (n < hn) {
							let r = Ye.bias;
							if (r != 0) {
								let i = yn(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (hn = n, U = e);
							} else hn = n, U = e;
						}
					}
					if (Ve || Ze) {
						let t, i;
						E.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = Je.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = Je.size(r, e);
						if (v = Je.fill(r, e), g = Je.stroke(r, e), Ze) e == U && hn <= Ye.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = Qe[e];
							t != null && ($e[e] = c, et[e] = l, Il(t, a, o, y), Pl(t, v, g), Ml(t, du(c), du(l), P, F));
						}
					}
				}
			}
			if (Ze) {
				let e = Ye.prox;
				if (Ve || (gn == null ? hn <= e : hn > e || U != gn)) {
					let e = Qe[0];
					e != null && ($e[0] = s, et[0] = u, Il(e, d, f, p), Pl(e, m, h), Ml(e, du(s), du(u), P, F));
				}
			}
		}
		if (cn.show && rn) {
			if (e != null) {
				let [t, n] = Gn.scales, [r, i] = Gn.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (on = s._x, sn = s._y, on || sn) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && on ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = te(m(h, a), _, c, 0), y = te(m(h + g, a), _, c, 0), Sn(fu(v, y), cu(y - v))) : Sn(0, c), S && sn ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = ne(m(h, o), _, l, 0), y = ne(m(h + g, o), _, l, 0), Cn(fu(v, y), cu(y - v))) : Cn(0, l);
				} else Mn();
			} else {
				let e = cu($t - Zt), t = cu(en - V);
				if (E.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				on = an.x && e >= an.dist, sn = an.y && t >= an.dist;
				let n = an.uni;
				n == null ? an.x && an.y && (on || sn) && (on = sn = !0) : on && sn && (on = e >= n, sn = t >= n, !on && !sn && (t > e ? sn = !0 : on = !0));
				let r, i;
				on && (E.ori == 0 ? (r = H, i = tn) : (r = Qt, i = nn), Sn(fu(r, i), cu(i - r)), sn || Cn(0, l)), sn && (E.ori == 1 ? (r = H, i = tn) : (r = Qt, i = nn), Cn(fu(r, i), cu(i - r)), on || Sn(0, c)), !on && !sn && (Sn(0, 0), Cn(0, 0));
			}
		}
		if (an._x = on, an._y = sn, e == null) {
			if (a) {
				if (Kn != null) {
					let [e, t] = Gn.scales;
					Gn.values[0] = e == null ? null : yn(E.ori == 0 ? tn : nn, e), Gn.values[1] = t == null ? null : yn(E.ori == 1 ? tn : nn, t);
				}
				Jn(cl, r, tn, nn, P, F, o);
			}
			if (Xe) {
				let e = a && Gn.setSeries, t = Ye.prox;
				gn == null ? hn <= t && pn(U, _n, !0, e) : hn > t ? pn(null, _n, !0, e) : U != gn && pn(U, _n, !0, e);
			}
		}
		Ve && (le.idx = o, Tn()), n !== !1 && Un("setCursor");
	}
	let On = null;
	Object.defineProperty(r, "rect", { get() {
		return On ?? kn(!1), On;
	} });
	function kn(e = !1) {
		e ? On = null : (On = m.getBoundingClientRect(), Un("syncRect", On));
	}
	function An(e, t, n, r, i, a, o) {
		k._lock || rn && e != null && e.movementX == 0 && e.movementY == 0 || (jn(e, t, n, r, i, a, o, !1, e != null), e == null ? Dn(t, !0, !1) : Dn(null, !0, !0));
	}
	function jn(e, t, n, i, a, o, c, l, u) {
		if (On ?? kn(!1), qe(e), e != null) n = e.clientX - On.left, i = e.clientY - On.top;
		else {
			if (n < 0 || i < 0) {
				tn = -10, nn = -10;
				return;
			}
			let [e, r] = Gn.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = Gn.match, h = t.axes[0].side % 2 == 1, g = E.ori == 0 ? P : F, _ = E.ori == 1 ? P : F, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, E.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == cl) && ((n <= 1 || n >= P - 1) && (n = Nu(n, P)), (i <= 1 || i >= F - 1) && (i = Nu(i, F))), l ? (Zt = n, V = i, [H, Qt] = k.move(r, n, i)) : (tn = n, nn = i);
	}
	let W = {
		width: 0,
		height: 0,
		left: 0,
		top: 0
	};
	function Mn() {
		un(W, !1);
	}
	let Nn, G, Pn, Fn;
	function In(e, t, n, i, a, o, s) {
		rn = !0, on = sn = an._x = an._y = !1, jn(e, t, n, i, a, o, s, !0, !1), e != null && (Se(ul, bl, Ln, !1), Jn(ll, r, H, Qt, P, F, null));
		let { left: c, top: l, width: u, height: d } = cn;
		Nn = c, G = l, Pn = u, Fn = d;
	}
	function Ln(e, t, n, i, a, o, s) {
		rn = an._x = an._y = !1, jn(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = cn, f = u > 0 || d > 0, p = Nn != c || G != l || Pn != u || Fn != d;
		if (f && p && un(cn), an.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (E.ori == 1 && (e = l, t = d, n = c, r = u), on && fn(S, yn(e, S), yn(e + t, S)), sn) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != bu && fn(e, yn(n + r, e), yn(n, e));
			}
			Mn();
		} else k.lock && (k._lock = !k._lock, Dn(t, !0, e != null));
		e != null && (Ce(ul, bl), Jn(ul, r, tn, nn, P, F, null));
	}
	function Rn(e, t, n, r, i, a, o) {
		if (k._lock) return;
		qe(e);
		let s = rn;
		if (rn) {
			let e = !0, t = !0, n, r;
			E.ori == 0 ? (n = on, r = sn) : (n = sn, r = on), n && r && (e = tn <= 10 || tn >= P - 10, t = nn <= 10 || nn >= F - 10), n && e && (tn = tn < H ? 0 : P), r && t && (nn = nn < Qt ? 0 : F), Dn(null, !0, !0), rn = !1;
		}
		tn = -10, nn = -10, ce.fill(null), Dn(null, !0, !0), s && (rn = s);
	}
	function zn(e, t, n, i, a, o, s) {
		k._lock || (qe(e), pt(), Mn(), e != null && Jn(pl, r, tn, nn, P, F, null));
	}
	function Bn() {
		y.forEach(Ip), He(r.width, r.height, !0);
	}
	zl(_l, xl, Bn);
	let Vn = {};
	Vn.mousedown = In, Vn.mousemove = An, Vn.mouseup = Ln, Vn.dblclick = zn, Vn.setSeries = (e, t, n, i) => {
		n = (0, Gn.match[2])(r, t, n), n != -1 && pn(n, i, !0, !1);
	}, ue && (Se(ll, m, In), Se(cl, m, An), Se(dl, m, (e) => {
		qe(e), kn(!1);
	}), Se(fl, m, Rn), Se(pl, m, zn), bp.add(r), r.syncRect = kn);
	let Hn = r.hooks = e.hooks || {};
	function Un(e, t, n) {
		Ht ? Ut.push([
			e,
			t,
			n
		]) : e in Hn && Hn[e].forEach((e) => {
			e.call(null, r, t, n);
		});
	}
	(e.plugins || []).forEach((e) => {
		for (let t in e.hooks) Hn[t] = (Hn[t] || []).concat(e.hooks[t]);
	});
	let Wn = (e, t, n) => n, Gn = Qu({
		key: null,
		setSeries: !1,
		filters: {
			pub: ku,
			sub: ku
		},
		scales: [S, v[1] ? v[1].scale : null],
		match: [
			Au,
			Au,
			Wn
		],
		values: [null, null]
	}, k.sync);
	Gn.match.length == 2 && Gn.match.push(Wn), k.sync = Gn;
	let Kn = Gn.key, qn = Vf(Kn);
	function Jn(e, t, n, r, i, a, o) {
		Gn.filters.pub(e, t, n, r, i, a, o) && qn.pub(e, t, n, r, i, a, o);
	}
	qn.sub(r), r.pub = function(e, t, n, r, i, a, o) {
		Gn.filters.sub(e, t, n, r, i, a, o) && Vn[e](null, t, n, r, i, a, o);
	}, r.destroy = function() {
		qn.unsub(r), bp.delete(r), xe.clear(), Bl(_l, xl, Bn), l.remove(), fe?.remove(), Un("destroy");
	};
	function Yn() {
		Un("init", e, t), ft(t || e.data, !1), O[S] ? qt(S, O[S]) : pt(), Be = cn.show && (cn.width > 0 || cn.height > 0), ze = Ve = !0, He(e.width, e.height);
	}
	return v.forEach(nt), y.forEach(I), n ? n instanceof HTMLElement ? (n.appendChild(l), Yn()) : n(r, Yn) : Yn(), r;
}
Lp.assign = Qu, Lp.fmtNum = au, Lp.rangeNum = eu, Lp.rangeLog = Jl, Lp.rangeAsinh = Yl, Lp.orient = Wf, Lp.pxRatio = Cl, Lp.join = function(e, t) {
	if (ad(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return od(t[0]) || (t = id(t)), t;
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
			let c = o[e], l = Array(i).fill(void 0), u = t ? t[n][e] : ed, d = [];
			for (let e = 0; e < c.length; e++) {
				let t = c[e], n = a.get(s[e]);
				t === null ? u != $u && (l[n] = t, u == td && d.push(n)) : l[n] = t;
			}
			nd(l, d, i), r.push(l);
		}
	}
	return r;
}, Lp.fmtDate = hd, Lp.tzDate = function(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = new Date(+e + e.getTimezoneOffset() * 6e4) : t == gd ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}, Lp.sync = Vf;
{
	Lp.addGap = Yf, Lp.clipGaps = Jf;
	let e = Lp.paths = { points: lp };
	e.linear = pp, e.stepped = mp, e.bars = gp, e.spline = vp;
}
// src/roles.ts
var Rp = /^(f16|bf16|f32|f64)\[/;
function zp(e) {
	let t = e.type ?? "", n = e.name.toLowerCase();
	if (t === "binary") return "bytes";
	if (Zs(t) || /^(date|timestamp|duration)/.test(t)) return "number";
	if (t === "utf8" || t === "categorical") return "text";
	let r = /\[([\d,?]*)\]$/.exec(t)?.[1].split(",") ?? [];
	if (Rp.test(t)) {
		if (r.length === 2 && /^[34]$/.test(r[0]) && r[1] === "4" || r.length === 1 && r[0] === "3" && /position|translation|xyz|location/.test(n)) return "pose";
		let e = Number(r[1]);
		if (r.length === 2 && e >= 7 && e <= 10 && /box|cuboid|object|annotation/.test(n)) return "boxes";
		if (r.length === 2 && e >= 3 && e <= 10 && /point|lidar|sweep|cloud|radar|xyz/.test(n)) return "points";
	}
	return /\[[\d,?]+\]$/.test(t) ? "tensor" : "other";
}
// src/along.ts
var Bp = 6;
function Vp(e, t) {
	if (e == null) return null;
	let n = t === "bf16" ? ac(Number(e)) : Number(e);
	return Number.isFinite(n) ? n : null;
}
function Hp(e, t) {
	let n = e.rows.map((e) => e ?? 0), r = {
		rows: n,
		plots: [],
		paths: []
	}, i = new Map();
	for (let a of t) {
		if (!e.types.has(a.name)) continue;
		if (zp(a) === "pose") {
			let t = n.flatMap((t, n) => {
				let r = sc(e.value(a.name, n), a.type ?? "");
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
		let t = n.map((t, n) => Vp(e.value(a.name, n), a.type)), o = {
			name: a.name,
			type: a.type,
			unit: a.unit,
			isFlag: a.type === "bool",
			values: t
		}, s = a.unit ?? a.name;
		i.has(s) || i.set(s, []), i.get(s).push(o);
	}
	return r.plots = [...i.values()].slice(0, Bp), r;
}
// src/Plot.svelte
var Up = q("<span><i></i> <b> </b></span>"), Wp = q("<figure class=\"plot\"><div class=\"canvas\"></div> <figcaption></figcaption></figure>");
function Gp(e, t) {
	Pe(t, !0);
	let n = R(void 0), r = R(null), i = [
		"--line-1",
		"--line-2",
		"--line-3",
		"--line-4",
		"--line-5",
		"--line-6"
	], a = matchMedia("(prefers-color-scheme: dark)"), o = I(() => t.series.every((e) => e.isFlag) ? 66 : 116), s = R(Bt(a.matches));
	un(() => {
		let e = () => z(s, a.matches, !0);
		return a.addEventListener("change", e), () => a.removeEventListener("change", e);
	}), un(() => {
		if (K(s), !K(n)) return;
		let e = getComputedStyle(K(n)), a = (t) => e.getPropertyValue(t).trim(), c = {
			stroke: a("--soft"),
			grid: {
				stroke: a("--line"),
				width: 1
			},
			ticks: { show: !1 },
			font: "11px system-ui"
		}, l = new Lp({
			width: K(n).clientWidth || 300,
			height: K(o),
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
				values: (e, t) => t.map((e) => e === null ? "" : Ks(e))
			}],
			series: [{}, ...t.series.map((e, n) => ({
				paths: e.isFlag ? Lp.paths.stepped({ align: 1 }) : void 0,
				stroke: a(i[n % i.length]),
				width: 1.5,
				points: { show: t.rows.length < 3 }
			}))],
			hooks: { draw: [(e) => {
				let t = e.valToPos($.row, "x", !0), { ctx: n, bbox: r } = e;
				n.save(), n.strokeStyle = a("--accent"), n.lineWidth = 2 * devicePixelRatio, n.beginPath(), n.moveTo(t, r.top), n.lineTo(t, r.top + r.height), n.stroke(), n.restore();
			}] }
		}, [t.rows, ...t.series.map((e) => e.values)], K(n)), u = new ResizeObserver(() => K(n) && l.setSize({
			width: K(n).clientWidth,
			height: K(o)
		}));
		return u.observe(K(n)), l.over.addEventListener("click", () => {
			let e = l.posToVal(l.cursor.left ?? 0, "x");
			$.step(Math.min(t.end - 1, Math.max(t.start, Math.round(e))));
		}), z(r, l), () => {
			u.disconnect(), l.destroy(), z(r, null);
		};
	}), un(() => {
		$.row, K(r)?.redraw(!1);
	});
	let c = (e) => t.batch ? Vp(t.batch.value(e.name, 0), e.type) : null;
	var l = Wp(), u = B(l);
	xi(u, (e) => z(n, e), () => K(n));
	var d = H(u, 2);
	zr(d, 21, () => t.series, Fr, (e, t, n) => {
		let r = I(() => c(K(t)));
		var i = Up(), a = B(i);
		Xr(a, 1, `key-${n % 6 + 1}`);
		var o = H(a), s = V(H(o), !0);
		N(i), U((e) => {
			Y(o, `${K(t).name ?? ""}${K(t).unit ? ` (${K(t).unit})` : ""} `), Y(s, e);
		}, [() => K(r) === null ? "null" : Ks(K(r))]), J(e, i);
	}), N(d), N(l), J(e, l), Fe();
}
// \0vite/preload-helper.js
var Kp = (function() {
	let e = typeof document < "u" && document.createElement("link").relList;
	return e && e.supports && e.supports("modulepreload") ? "modulepreload" : "preload";
})(), qp = function(e) {
	return "/" + e;
}, Jp = {}, Yp = {}, Xp = function(e) {
	return e.pathname.endsWith(".css");
}, Zp = function(e, t, n) {
	if (t in e) return e[t];
	let r = n();
	if (!r) {
		e[t] = void 0;
		return;
	}
	let i = r.then(() => {
		e[t] = void 0;
	}, (n) => {
		throw delete e[t], n;
	});
	return e[t] = i, i;
}, Qp = function(e, t, n) {
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
			t = qp(t, n);
			let r = s(t), i = Xp(r);
			return Zp(Jp, r.href, () => {
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
				let t = i ? e.styles : e.all, n = i ? Yp[r.href] : void 0;
				if (!n && t.has(r.href)) return;
				let o = document.createElement("link");
				if (o.rel = i ? "stylesheet" : Kp, i || (o.as = "script"), o.crossOrigin = "", o.href = r.href, a && o.setAttribute("nonce", a), n && delete Yp[r.href], n?.isConnected ? n.replaceWith(o) : document.head.appendChild(o), i) return new Promise((e, t) => {
					let n = (i) => {
						o.removeEventListener("load", n), o.removeEventListener("error", n), i.type === "error" ? (Yp[r.href] = o, t(Error(`Unable to preload CSS for ${r}`))) : e(i);
					};
					o.addEventListener("load", n), o.addEventListener("error", n);
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
}, $p = q("<p class=\"failure\"> </p>"), em = q("<canvas role=\"img\"></canvas> <div class=\"over\" role=\"group\"><button class=\"quiet\">3-D</button> <button class=\"quiet\">From above</button></div>", 1), tm = q("<figure class=\"points\"><!> <figcaption><span> </span> <span> </span></figcaption></figure>");
function nm(e, t) {
	Pe(t, !0);
	let n = R(void 0), r = R(!1), i = R(""), a = R(null);
	un(() => {
		if (!K(n)) return;
		let e = K(n), t = !1, r = new ResizeObserver(() => K(a)?.size());
		return Qp(async () => {
			let { Scene3: e } = await import("./points.js");
			return { Scene3: e };
		}, []).then(({ Scene3: n }) => {
			t || (z(a, new n(e)), r.observe(e));
		}).catch((e) => z(i, `This browser draws no points: ${e.message}`)), () => {
			t = !0, r.disconnect(), K(a)?.close(), z(a, null);
		};
	}), un(() => {
		K(a) && K(n) && K(a).show({
			points: t.points,
			boxes: t.boxes
		}, getComputedStyle(K(n)).getPropertyValue("--box").trim() || "#d9822b");
	}), un(() => K(a)?.look(K(r)));
	var o = tm(), s = B(o), c = (e) => {
		var t = $p(), n = V(t, !0);
		U(() => Y(n, K(i))), J(e, t);
	}, l = (e) => {
		var i = em(), a = Zt(i);
		xi(a, (e) => z(n, e), () => K(n));
		var o = H(a, 2), s = B(o), c = H(s, 2);
		N(o), U((e) => {
			Z(a, "aria-label", `${t.name ?? ""}: ${e ?? ""} ${t.boxes ? `${t.boxes.shape[0]} boxes` : ""}`), Z(o, "aria-label", `View of ${t.name ?? ""}`), Z(s, "aria-pressed", !K(r)), Z(c, "aria-pressed", K(r));
		}, [() => t.points ? Ws(t.points.shape[0], "point") : ""]), dr("click", s, () => z(r, !1)), dr("click", c, () => z(r, !0)), J(e, i);
	};
	X(s, (e) => {
		K(i) ? e(c) : e(l, -1);
	});
	var u = H(s, 2), d = B(u), f = V(d, !0), p = V(H(d, 2));
	N(u), N(o), U((e, n) => {
		Y(f, t.name), Y(p, `${e ?? ""}${n ?? ""} · coloured by height`);
	}, [() => t.points ? Ws(t.points.shape[0], "point") : "", () => t.boxes ? ` · ${Us(t.boxes.shape[0])} boxes` : ""]), J(e, o), Fe();
}
fr(["click"]);
// src/Tensor.svelte
var rm = q("<p class=\"absent\">no elements</p>"), im = q("<td> </td>"), am = q("<tr></tr>"), om = q("<p class=\"more\"> </p>"), sm = q("<table><tbody></tbody></table> <!>", 1), cm = q("<canvas role=\"img\"></canvas>"), lm = q("<div><dt>NaN</dt><dd> </dd></div>"), um = q("<!> <dl><div><dt>least</dt><dd> </dd></div> <div><dt>mean</dt><dd> </dd></div> <div><dt>most</dt><dd> </dd></div> <!></dl>", 1), dm = q("<div class=\"tensor\"><p class=\"label\"><span> </span><span> </span></p> <!></div>");
function fm(e, t) {
	Pe(t, !0);
	let n = R(void 0), r = I(() => cc(t.tensor.values)), i = I(() => t.tensor.values.length), a = I(() => {
		let e = t.tensor.shape.filter((e) => e !== 1);
		return e.length >= 2 ? [e[e.length - 2], e[e.length - 1]] : [1, e[0] ?? 1];
	}), o = I(() => K(a)[0] > 1 && K(a)[1] > 6 && K(a)[0] <= 2048 && K(a)[1] <= 2048), s = I(() => K(a)[0] > 1 ? K(a)[1] : Math.min(K(i), 5)), c = I(() => K(i) <= 16 || t.tensor.shape.length < 3 && K(s) <= 6);
	un(() => {
		if (!K(n) || !K(o)) return;
		let [e, i] = K(a);
		K(n).width = i, K(n).height = e;
		let s = K(n).getContext("2d"), c = s.createImageData(i, e), l = Math.max(1e-300, K(r).most - K(r).least);
		for (let n = 0; n < e * i; n++) {
			let e = Number(t.tensor.values[n]), i = (e - K(r).least) / l;
			c.data[4 * n] = 20 + 230 * i ** 1.2, c.data[4 * n + 1] = 28 + 190 * i ** .9, c.data[4 * n + 2] = 84 + 120 * i * (1 - i) * 2 - 30 * i, c.data[4 * n + 3] = Number.isNaN(e) ? 0 : 255;
		}
		s.putImageData(c, 0, 0);
	});
	let l = I(() => {
		if (!K(c) || !K(i)) return [];
		let e = Array.from({ length: Math.min(K(i), 8 * K(s)) }, (e, n) => Number(t.tensor.values[n]));
		return Array.from({ length: Math.ceil(e.length / K(s)) }, (t, n) => e.slice(n * K(s), (n + 1) * K(s)));
	});
	var u = dm(), d = B(u), f = B(d), p = V(f, !0), m = V(H(f));
	N(d);
	var h = H(d, 2), g = (e) => {
		J(e, rm());
	}, _ = (e) => {
		var n = sm(), r = Zt(n), a = B(r);
		zr(a, 21, () => K(l), Fr, (e, t) => {
			var n = am();
			zr(n, 21, () => K(t), Fr, (e, t) => {
				var n = im(), r = V(n, !0);
				U((e) => Y(r, e), [() => Ks(K(t))]), J(e, n);
			}), N(n), J(e, n);
		}), N(a), N(r);
		var o = H(r, 2), c = (e) => {
			var t = om(), n = V(t);
			U(() => Y(n, `the first ${8 * K(s)} of ${K(i) ?? ""} values`)), J(e, t);
		};
		X(o, (e) => {
			K(i) > 8 * K(s) && e(c);
		}), U(() => Z(r, "aria-label", t.name)), J(e, n);
	}, v = (e) => {
		var i = um(), a = Zt(i), s = (e) => {
			var r = cm();
			xi(r, (e) => z(n, e), () => K(n)), U(() => Z(r, "aria-label", `${t.name ?? ""} as a heat map`)), J(e, r);
		};
		X(a, (e) => {
			K(o) && e(s);
		});
		var c = H(a, 2), l = B(c), u = V(H(B(l)), !0);
		N(l);
		var d = H(l, 2), f = V(H(B(d)), !0);
		N(d);
		var p = H(d, 2), m = V(H(B(p)), !0);
		N(p);
		var h = H(p, 2), g = (e) => {
			var t = lm(), n = V(H(B(t)), !0);
			N(t), U(() => Y(n, K(r).nan)), J(e, t);
		};
		X(h, (e) => {
			K(r).nan && e(g);
		}), N(c), U((e, t, n) => {
			Y(u, e), Y(f, t), Y(m, n);
		}, [
			() => Ks(K(r).least),
			() => Ks(K(r).mean),
			() => Ks(K(r).most)
		]), J(e, i);
	};
	X(h, (e) => {
		K(i) ? K(c) ? e(_, 1) : e(v, -1) : e(g);
	}), N(u), U((e) => {
		Y(p, t.name), Y(m, `${e ?? ""}${t.unit ? ` · ${t.unit}` : ""}`);
	}, [() => t.tensor.shape.join(" × ")]), J(e, u), Fe();
}
// src/Card.svelte
var pm = q("<div class=\"damaged\" role=\"alert\"><b>This group cannot be read here.</b> <p> </p></div>"), mm = q("<p class=\"absent tall\" role=\"status\">reading …</p>"), hm = q("<p class=\"absent tall\">The other table of this merge has no row here.</p>"), gm = q("<div></div>"), _m = q("<!> <!>", 1), vm = q("<small> </small>"), ym = q("<div><dt> </dt> <dd> <!></dd></div>"), bm = q("<dl class=\"pairs\"></dl>"), xm = q("<div class=\"long\"><p class=\"label\"><span> </span></p> <pre tabindex=\"0\"> </pre></div>"), Sm = q("<p class=\"absent\">null</p>"), Cm = q("<pre class=\"hex\" tabindex=\"0\"> </pre>"), wm = q("<div class=\"long\"><p class=\"label\"><span> </span><span> </span></p> <!></div>"), Tm = q("<!> <!> <!> <!> <!> <!> <!> <!>", 1), Em = q("<section><h2> <small> </small></h2> <!></section>");
function Dm(e, t) {
	Pe(t, !0);
	let n = I(() => t.batch ? t.group.columns.map((e) => {
		let n = t.batch.value(e.name, 0), r = zp(e);
		return r === "bytes" ? {
			column: e,
			value: n,
			kind: oc(n) || n === null && t.strip ? "picture" : "bytes"
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
	}) : []), r = (e) => K(n).filter((t) => t.kind === e), i = I(() => r("points").filter((e) => zp(e.column) === "points")), a = I(() => r("points").find((e) => zp(e.column) === "boxes")), o = I(() => t.batch !== null && t.group.columns.length > 0 && !t.batch.there(t.group.columns[0].name, 0) && t.batch.rows[0] !== null), s = I(() => r("picture").length > 1);
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
			return `[${n.slice(0, 12).map((e) => $s(e, t.startsWith("bf16[") ? "bf16" : "")).join(", ")}${n.length > 12 ? `, … ${n.length}` : ""}]`;
		}
		return $s(e, t);
	}
	var d = Em();
	let f;
	var p = B(d), m = B(p), h = V(H(m), !0);
	N(p);
	var g = H(p, 2), _ = (e) => {
		var n = pm(), r = V(H(B(n), 2), !0);
		N(n), U(() => Y(r, t.failure)), J(e, n);
	}, v = (e) => {
		J(e, mm());
	}, y = (e) => {
		J(e, hm());
	}, b = (e) => {
		var n = Tm(), o = Zt(n), d = (e) => {
			var n = gm();
			let i;
			zr(n, 21, () => r("picture"), (e) => e.column.name, (e, n) => {
				Mc(e, {
					get name() {
						return K(n).column.name;
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
			}), N(n), U(() => i = Xr(n, 1, "pictures", null, i, { several: K(s) })), J(e, n);
		}, f = I(() => r("picture").length);
		X(o, (e) => {
			K(f) && e(d);
		});
		var p = H(o, 2);
		zr(p, 17, () => K(i), (e) => e.column.name, (e, n) => {
			{
				let r = I(() => sc(K(n).value, K(n).column.type ?? "")), i = I(() => K(a) ? sc(K(a).value, K(a).column.type ?? "") : t.boxes);
				nm(e, {
					get name() {
						return K(n).column.name;
					},
					get points() {
						return K(r);
					},
					get boxes() {
						return K(i);
					}
				});
			}
		});
		var m = H(p, 2), h = (e) => {
			{
				let t = I(() => sc(K(a).value, K(a).column.type ?? ""));
				fm(e, {
					get name() {
						return K(a).column.name;
					},
					get tensor() {
						return K(t);
					},
					get unit() {
						return K(a).column.unit;
					}
				});
			}
		};
		X(m, (e) => {
			K(a) && !K(i).length && e(h);
		});
		var g = H(m, 2), _ = (e) => {
			var n = _m(), r = Zt(n);
			zr(r, 17, () => t.along.paths, (e) => e.name, (e, t) => {
				xc(e, {
					get name() {
						return K(t).name;
					},
					get places() {
						return K(t).places;
					},
					get row() {
						return $.row;
					}
				});
			}), zr(H(r, 2), 17, () => t.along.plots, Fr, (e, n) => {
				Gp(e, {
					get rows() {
						return t.along.rows;
					},
					get series() {
						return K(n);
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
			}), J(e, n);
		};
		X(g, (e) => {
			t.along && e(_);
		});
		var v = H(g, 2);
		zr(v, 17, () => r("tensor"), (e) => e.column.name, (e, t) => {
			let n = I(() => sc(K(t).value, K(t).column.type ?? ""));
			var r = Cr(), i = Zt(r), a = (e) => {
				fm(e, {
					get name() {
						return K(t).column.name;
					},
					get tensor() {
						return K(n);
					},
					get unit() {
						return K(t).column.unit;
					}
				});
			};
			X(i, (e) => {
				K(n) && e(a);
			}), J(e, r);
		});
		var y = H(v, 2), b = (e) => {
			var t = bm();
			zr(t, 21, () => r("pair"), (e) => e.column.name, (e, t) => {
				var n = ym(), r = B(n), i = V(r, !0), a = H(r, 2);
				let o;
				var s = B(a, !0), c = H(s), l = (e) => {
					var n = vm(), r = V(n);
					U(() => Y(r, ` ${K(t).column.unit ?? ""}`)), J(e, n);
				};
				X(c, (e) => {
					K(t).column.unit && K(t).value !== null && e(l);
				}), N(a), N(n), U((e) => {
					Y(i, K(t).column.name), o = Xr(a, 1, "", null, o, { null: K(t).value === null }), Y(s, e);
				}, [() => u(K(t).value, K(t).column.type ?? "")]), J(e, n);
			}), N(t), J(e, t);
		}, x = I(() => r("pair").length);
		X(y, (e) => {
			K(x) && e(b);
		});
		var S = H(y, 2);
		zr(S, 17, () => r("text"), (e) => e.column.name, (e, t) => {
			var n = xm(), r = B(n), i = V(B(r), !0);
			N(r);
			var a = H(r, 2), o = V(a, !0);
			N(n), U((e) => {
				Y(i, K(t).column.name), Z(a, "aria-label", K(t).column.name), Y(o, e);
			}, [() => c(K(t).value)]), J(e, n);
		}), zr(H(S, 2), 17, () => r("bytes"), (e) => e.column.name, (e, t) => {
			var n = wm(), r = B(n), i = B(r), a = V(i, !0), o = V(H(i), !0);
			N(r);
			var s = H(r, 2), c = (e) => {
				J(e, Sm());
			}, u = (e) => {
				var n = Cm(), r = V(n, !0);
				U((e) => {
					Z(n, "aria-label", `${K(t).column.name ?? ""} in hexadecimal`), Y(r, e);
				}, [() => l(K(t).value)]), J(e, n);
			};
			X(s, (e) => {
				K(t).value === null ? e(c) : e(u, -1);
			}), N(n), U((e) => {
				Y(a, K(t).column.name), Y(o, e);
			}, [() => K(t).value === null ? "" : Gs(K(t).value.length)]), J(e, n);
		}), J(e, n);
	};
	X(g, (e) => {
		t.failure ? e(_) : t.batch ? K(o) ? e(y, 2) : e(b, -1) : e(v, 1);
	}), N(d), U((e) => {
		f = Xr(d, 1, "card", null, f, { wide: K(s) }), Z(d, "aria-label", t.group.name), Z(d, "aria-busy", !t.batch && !t.failure), Y(m, `${t.group.name ?? ""} `), Y(h, e);
	}, [() => Ws(t.group.columns.length, "column")]), J(e, d), Fe();
}
// src/Row.svelte
var Om = q("<b> </b> ", 1), km = q("<small> </small>"), Am = q("<p class=\"failure\" role=\"alert\"> </p>"), jm = q("<button class=\"same\">=</button>"), Mm = q("<div><dt> </dt> <dd> <!> <!></dd></div>"), Nm = q("<dl class=\"pairs\"></dl>"), Pm = q("<section class=\"player\" aria-label=\"Sequence\"><div class=\"buttons\"><button class=\"quiet\" aria-label=\"Row before\">←</button> <button class=\"primary\"> </button> <button class=\"quiet\" aria-label=\"Row after\">→</button></div> <input type=\"range\" aria-label=\"Row of the sequence\"/> <p class=\"number\" role=\"status\"><!> <!></p> <button class=\"quiet flagger\"> </button></section> <!> <div class=\"cards\"><section class=\"card index\" aria-labelledby=\"index-card\"><h2 id=\"index-card\">Index <small> </small></h2> <!> <!></section> <div class=\"groups\"></div></div> <p class=\"keys\"><kbd>←</kbd> <kbd>→</kbd> step · <kbd>space</kbd> plays · <kbd>f</kbd> flags · <kbd>Home</kbd> <kbd>End</kbd> of the sequence · <kbd>Esc</kbd> rows</p>", 1);
function Fm(e, t) {
	Pe(t, !0);
	let n = R({}), r = R(null), i = R(null), a = R({
		start: 0,
		end: $.info?.rows ?? 0
	}), o = R(""), s = R(!1), c = R(null), l = I(() => $.info), u = I(() => K(l).rows - 1), d = I(() => K(l).index.filter((e) => Qs(e.type) && !K(l).sequence_by.includes(e.name) && !K(l).order_by.includes(e.name) && !/^([mun]s|µs)$/.test(e.unit ?? "")).map((e) => e.name)), f = (e, t) => z(n, {
		...K(n),
		[e]: {
			...K(n)[e] ?? { row: -1 },
			...t
		}
	}), p = new Map();
	function h(e, t) {
		let n = `${e}/${t.name}`, r = p.get(n);
		if (r) return r.batch;
		let i = new AbortController(), a = Rs("row", [
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
		return p.size > 8 * Math.max(1, K(l).groups.length) && s && p.delete(s), a;
	}
	let g = -1;
	un(() => {
		let e = Math.min($.row, K(u));
		g = e;
		let t = performance.now();
		z(o, "");
		let n = new AbortController();
		for (let [t, n] of p) n.row !== e && n.row !== e + 1 && (n.stop.abort(), n.isDone || p.delete(t));
		Rs("rows", [["table", $.table], ["rows", e]], n.signal).then((t) => g === e && z(r, t)).catch((t) => g === e && ((e) => {
			var t = m(e, 2);
			return z(r, t[0]), z(o, t[1], !0), e;
		})([null, t.message]));
		let i = K(l).groups.map((t) => h(e, t).then((n) => g === e && f(t.name, {
			batch: n,
			failure: void 0,
			row: e
		}), (n) => g === e && f(t.name, {
			batch: void 0,
			strip: void 0,
			failure: n.message,
			row: e
		}))), d;
		return Promise.allSettled(i).then(() => {
			if (g === e && (z(c, performance.now() - t), K(s) ? e + 1 >= K(a).end ? z(s, !1) : d = setTimeout(() => $.step(e + 1), Math.max(20, 100 - K(c))) : d = setTimeout(() => _(e, n.signal), 60), e + 1 < K(a).end)) for (let t of K(l).groups) h(e + 1, t).catch(() => {});
		}), () => {
			clearTimeout(d), n.abort();
		};
	});
	function _(e, t) {
		for (let n of K(l).groups) {
			let r = n.columns.filter((e) => zp(e) === "bytes");
			r.length && Rs("row", [
				["table", $.table],
				["row", e],
				["before", 3],
				["after", 3],
				...r.map((e) => ["columns", e.name])
			], t).then((t) => g === e && f(n.name, {
				strip: t,
				stripOf: e
			})).catch(() => g === e && f(n.name, { strip: void 0 }));
		}
	}
	let v = "", y = new AbortController();
	un(() => {
		let e = Math.min($.row, K(u));
		if (v && e >= K(a).start && e < K(a).end) return;
		y.abort();
		let { signal: t } = y = new AbortController();
		z(i, null), z(n, Object.fromEntries(Object.entries(nr(() => K(n))).map(([e, t]) => [e, {
			...t,
			along: void 0
		}]))), Ls("sequence", [["table", $.table], ["row", e]], t).then((e) => {
			z(a, e), v = `${e.start}`;
			let n = [
				["table", $.table],
				["start", e.start],
				["end", e.end],
				["points", 500]
			];
			K(d).length && Rs("series", [...n, ...K(d).map((e) => ["index", e])], t).then((e) => z(i, Hp(e, K(l).index)), () => {});
			for (let e of K(l).groups) {
				let r = e.columns.filter((e) => ["number", "pose"].includes(zp(e))).map((e) => e.name);
				r.length && Rs("series", [...n, ...r.map((e) => ["columns", e])], t).then((t) => f(e.name, { along: Hp(t, e.columns) }), () => {});
			}
		}).catch((e) => t.aborted || z(o, e.message, !0));
	});
	let b = I(() => {
		for (let e of K(l).groups) for (let t of e.columns) {
			let r = K(n)[e.name]?.batch;
			if (r && zp(t) === "boxes") return sc(r.value(t.name, 0), t.type ?? "");
		}
		return null;
	}), x = (e) => Math.min(Math.max(0, e), K(u)), S = {
		ArrowRight: () => $.step(x($.row + 1)),
		ArrowLeft: () => $.step(x($.row - 1)),
		PageDown: () => $.step(x($.row + 10)),
		PageUp: () => $.step(x($.row - 10)),
		Home: () => v && $.step(K(a).start),
		End: () => v && $.step(Math.max(K(a).start, K(a).end - 1)),
		f: () => $.flag($.row),
		" ": C,
		Escape: () => $.show("rows")
	};
	function C() {
		z(s, !K(s)), K(s) && $.step($.row + 1 < K(a).end ? $.row + 1 : K(a).start);
	}
	function w(e) {
		if (e.altKey || e.ctrlKey || e.metaKey || document.querySelector("dialog[open]")) return;
		let t = e.target;
		if (t.matches("input, select, textarea") || t.matches("button") && [" ", "Enter"].includes(e.key)) return;
		let n = S[e.key];
		n && (e.preventDefault(), n());
	}
	un(() => () => {
		((e) => {
			var t = m(e, 2);
			z(s, t[0], !0), g = t[1];
		})([!1, -1]);
		for (let e of p.values()) e.stop.abort();
		y.abort();
	});
	var ee = Pm();
	ur("keydown", Ut, w);
	var T = Zt(ee), E = B(T), D = B(E), te = H(D, 2), ne = V(te, !0), O = H(te, 2);
	N(E);
	var re = H(E, 2);
	li(re);
	var ie = H(re, 2), ae = B(ie), oe = (e) => {
		var t = Om(), n = Zt(t), r = V(n, !0), i = H(n);
		U((e, t) => {
			Y(r, e), Y(i, ` of ${t ?? ""} in its sequence`);
		}, [() => Us($.row - K(a).start + 1), () => Us(K(a).end - K(a).start)]), J(e, t);
	}, se = (e) => {
		var t = Om(), n = Zt(t), r = V(n, !0), i = H(n);
		U((e, t) => {
			Y(r, e), Y(i, ` of ${t ?? ""}`);
		}, [() => Us($.row + 1), () => Us(K(l).rows)]), J(e, t);
	};
	X(ae, (e) => {
		K(a).end - K(a).start < K(l).rows ? e(oe) : e(se, -1);
	});
	var ce = H(ae, 2), le = (e) => {
		var t = km(), n = V(t);
		U((e) => Y(n, `${e ?? ""} ms`), [() => K(c).toFixed(0)]), J(e, t);
	};
	X(ce, (e) => {
		K(c) !== null && e(le);
	}), N(ie);
	var k = H(ie, 2), A = V(k);
	N(T);
	var ue = H(T, 2), de = (e) => {
		var t = Am(), n = V(t, !0);
		U(() => Y(n, K(o))), J(e, t);
	};
	X(ue, (e) => {
		K(o) && e(de);
	});
	var fe = H(ue, 2), pe = B(fe), me = B(pe), j = V(H(B(me)));
	N(me);
	var he = H(me, 2), M = (e) => {
		var t = Nm();
		zr(t, 21, () => K(l).index, (e) => e.name, (e, t) => {
			let n = I(() => K(r).value(K(t).name, 0)), i = I(() => K(r).types.get(K(t).name) ?? ""), a = I(() => tc(K(n), K(i)));
			var o = Mm(), s = B(o), c = V(s, !0), l = H(s, 2);
			let u;
			var d = B(l, !0), f = H(d), p = (e) => {
				var n = km(), r = V(n);
				U(() => Y(r, ` ${K(t).unit ?? ""}`)), J(e, n);
			};
			X(f, (e) => {
				K(t).unit && K(n) !== null && e(p);
			});
			var m = H(f, 2), h = (e) => {
				var r = jm();
				U(() => {
					Z(r, "aria-label", `Rows with the same ${K(t).name ?? ""}`), Z(r, "title", `Rows with the same ${K(t).name ?? ""}`);
				}), dr("click", r, () => {
					$.where = [...$.where, `${nc(K(t).name)} ${K(n) === null ? "IS NULL" : `= ${K(a)}`}`], $.show("rows");
				}), J(e, r);
			};
			X(m, (e) => {
				(K(a) !== null || K(n) === null) && e(h);
			}), N(l), N(o), U((e) => {
				Y(c, K(t).name), u = Xr(l, 1, "", null, u, { null: K(n) === null }), Y(d, e);
			}, [() => $s(K(n), K(i))]), J(e, o);
		}), N(t), J(e, t);
	};
	X(he, (e) => {
		K(r) && e(M);
	});
	var ge = H(he, 2), _e = (e) => {
		var t = Cr();
		zr(Zt(t), 17, () => K(i).plots, Fr, (e, t) => {
			Gp(e, {
				get rows() {
					return K(i).rows;
				},
				get series() {
					return K(t);
				},
				get batch() {
					return K(r);
				},
				get start() {
					return K(a).start;
				},
				get end() {
					return K(a).end;
				}
			});
		}), J(e, t);
	};
	X(ge, (e) => {
		K(i) && e(_e);
	}), N(pe);
	var ye = H(pe, 2);
	zr(ye, 21, () => K(l).groups, (e) => e.name, (e, t) => {
		let r = I(() => K(n)[K(t).name]);
		{
			let n = I(() => K(r)?.batch ?? null), i = I(() => K(r)?.strip ?? null), o = I(() => K(r)?.stripOf !== Math.min($.row, K(u))), s = I(() => K(r)?.failure ?? null), c = I(() => K(r)?.along ?? null);
			Dm(e, {
				get group() {
					return K(t);
				},
				get batch() {
					return K(n);
				},
				get strip() {
					return K(i);
				},
				get isStale() {
					return K(o);
				},
				before: 3,
				get failure() {
					return K(s);
				},
				get along() {
					return K(c);
				},
				get boxes() {
					return K(b);
				},
				get sequence() {
					return K(a);
				}
			});
		}
	}), N(ye), N(fe), ve(2), U((e, t, n, r) => {
		D.disabled = $.row <= 0, Z(te, "aria-pressed", K(s)), Y(ne, K(s) ? "Stop" : "Play"), O.disabled = $.row >= K(u), Z(re, "min", K(a).start), Z(re, "max", e), ui(re, $.row), Z(k, "aria-pressed", t), Y(A, `⚑ ${n ?? ""}`), Y(j, `row ${r ?? ""}`);
	}, [
		() => Math.max(K(a).start, K(a).end - 1),
		() => $.flags.includes($.row),
		() => $.flags.includes($.row) ? "Flagged" : "Flag",
		() => Us($.row)
	]), dr("click", D, function(...e) {
		S.ArrowLeft?.apply(this, e);
	}), dr("click", te, C), dr("click", O, function(...e) {
		S.ArrowRight?.apply(this, e);
	}), dr("input", re, (e) => $.step(Number(e.currentTarget.value))), dr("click", k, () => $.flag($.row)), J(e, ee), Fe();
}
fr(["click", "input"]);
// src/Head.svelte
var Im = xr("<rect></rect>"), Lm = q("<span> </span><span> </span>", 1), Rm = q("<span> </span>"), zm = q("<svg preserveAspectRatio=\"none\" aria-hidden=\"true\"></svg> <p class=\"range\"><!></p>", 1), Bm = q("<li><button><span class=\"share\"></span><span class=\"text\"> </span> <span class=\"times\"> </span></button></li>"), Vm = q("<span>too many different to count</span>"), Hm = q("<ul class=\"values\"></ul> <p class=\"range\"><!></p>", 1), Um = q("<button> </button>"), Wm = q("<p class=\"nulls\"><!> <!> <!></p>"), Gm = q("<div class=\"head\" role=\"columnheader\"><button class=\"sort\"><span class=\"text\"> </span> <span class=\"arrow\" aria-hidden=\"true\"> </span></button> <p class=\"type\"> </p> <!> <!></div>");
function Km(e, t) {
	Pe(t, !0);
	let n = I(() => t.column.type ?? ""), r = I(() => t.head?.counts ?? []), i = I(() => K(r).reduce((e, t) => Math.max(e, t), 1)), a = I(() => 128 / Math.max(1, K(r).length)), o = R(null), s = R(null);
	function c(e) {
		if (t.head?.start === void 0 || t.head.width === void 0) return null;
		if (t.head.whole) return String(BigInt(t.head.start) + BigInt(t.head.width) * BigInt(e));
		let r = Number(t.head.start) + Number(t.head.width) * e;
		return K(n) === "u64" ? String(BigInt(Math.max(0, Math.ceil(r)))) : r;
	}
	function l(e) {
		return e == null ? "" : typeof e == "number" ? Ks(e) : K(n) === "date" ? $s(Number(e), K(n)) : Js(K(n)) || K(n).startsWith("duration") ? $s(BigInt(e), K(n)) : e.replace("-", "−");
	}
	let u = I(() => K(r).length > 1 && !/^(timestamp|date|duration)/.test(K(n)));
	function d(e) {
		if (!K(u) || K(s) === null) return;
		let [i, a] = [Math.min(K(s), e), Math.max(K(s), e)];
		z(s, null);
		let o = nc(t.column.name), l = a === K(r).length - 1 ? t.head?.whole || typeof t.head?.most == "number" && K(n) !== "u64" ? ` AND ${o} <= ${t.head.most}` : "" : ` AND ${o} < ${c(a + 1)}`;
		$.filter(`${o} >= ${c(i)}${l}`, `${o} >= `);
	}
	function f(e) {
		let t = e.currentTarget.getBoundingClientRect();
		return Math.min(K(r).length - 1, Math.max(0, Math.floor((e.clientX - t.left) / t.width * K(r).length)));
	}
	let p = (e) => `${nc(t.column.name)} = ${K(n) === "bool" ? e : `'${e.replaceAll("'", "''")}'`}`, h = (e) => Math.max(2, Math.round(100 * e / Math.max(1, t.head?.rows ?? 1))), g = I(() => $.sort === t.column.name ? $.descending ? "descending" : "ascending" : "none"), _ = I(() => t.column.unit ? ` · ${t.column.unit}` : "");
	var v = Gm();
	let y;
	var b = B(v), x = B(b), S = V(x, !0), C = V(H(x, 2), !0);
	N(b);
	var w = H(b, 2), ee = V(w), T = H(w, 2), E = (e) => {
		var p = zm(), h = Zt(p);
		let g;
		Z(h, "viewBox", "0 0 128 34"), zr(h, 21, () => K(r), Fr, (e, t, n) => {
			let r = I(() => K(t) ? Math.max(1.5, K(t) / K(i) * 32) : 0), c = I(() => K(o) !== null && n >= Math.min(K(o), K(s) ?? K(o)) && n <= Math.max(K(o), K(s) ?? K(o)));
			var l = Im();
			let u;
			U((e) => {
				Z(l, "x", n * K(a)), Z(l, "y", 34 - K(r)), Z(l, "width", e), Z(l, "height", K(r)), u = Xr(l, 0, "", null, u, { chosen: K(c) });
			}, [() => Math.max(.6, K(a) - .5)]), J(e, l);
		}), N(h);
		var _ = H(h, 2), v = B(_), y = (e) => {
			var t = Lm(), n = Zt(t), i = V(n, !0), a = V(H(n), !0);
			U((e, t) => {
				Y(i, e), Y(a, t);
			}, [() => l(c(K(o))), () => Us(K(r)[K(o)])]), J(e, t);
		}, b = (e) => {
			var n = Rm(), r = V(n);
			U((e) => Y(r, `all ${e ?? ""}`), [() => l(t.head.least)]), J(e, n);
		}, x = (e) => {
			var n = Rm(), r = V(n);
			U((e, t, i) => {
				Z(n, "title", `${e ?? ""} to ${t ?? ""}`), Y(r, `${i ?? ""} …`);
			}, [
				() => l(t.head.least),
				() => l(t.head.most),
				() => l(t.head.least).slice(0, 16)
			]), J(e, n);
		}, S = I(() => Js(K(n)) || l(t.head.least).length + l(t.head.most).length > 20), C = (e) => {
			var n = Lm(), r = Zt(n), i = V(r, !0), a = V(H(r), !0);
			U((e, t) => {
				Y(i, e), Y(a, t);
			}, [() => l(t.head.least), () => l(t.head.most)]), J(e, n);
		};
		X(v, (e) => {
			K(o) === null ? t.head.least === t.head.most ? e(b, 1) : K(S) ? e(x, 2) : e(C, -1) : e(y);
		}), N(_), U(() => g = Xr(h, 0, "histogram", null, g, { choosable: K(u) })), dr("pointerdown", h, (e) => z(s, f(e), !0)), dr("pointerup", h, (e) => d(f(e))), dr("pointermove", h, (e) => z(o, f(e), !0)), ur("pointerleave", h, () => ((e) => {
			var t = m(e, 2);
			return z(o, t[0], !0), z(s, t[1], !0), e;
		})([null, null])), J(e, p);
	}, D = (e) => {
		var n = Hm(), r = Zt(n);
		zr(r, 21, () => (t.head.values ?? []).slice(0, 3), Fr, (e, n) => {
			var r = I(() => m(K(n), 2));
			let i = () => K(r)[0], a = () => K(r)[1];
			var o = Bm(), s = B(o), c = B(s);
			let l;
			var u = H(c), d = V(u, !0), f = V(H(u, 2), !0);
			N(s), N(o), U((e, t, n) => {
				Z(s, "title", `${i() ?? ""}: ${e ?? ""} rows`), l = Qr(c, "", l, { width: t }), Y(d, i() === "" ? "\"\"" : i()), Y(f, n);
			}, [
				() => Us(a()),
				() => `${h(a()) ?? ""}%`,
				() => Us(a())
			]), dr("click", s, () => $.filter(p(i()), `${nc(t.column.name)} = `)), J(e, o);
		}), N(r);
		var i = H(r, 2), a = B(i), o = (e) => {
			J(e, Vm());
		}, s = (e) => {
			var n = Rm(), r = V(n);
			U((e) => Y(r, `${e ?? ""} different`), [() => Us(t.head.distinct ?? 0)]), J(e, n);
		};
		X(a, (e) => {
			t.head.distinct === null ? e(o) : (t.head.distinct ?? 0) > 3 && e(s, 1);
		}), N(i), J(e, n);
	};
	X(T, (e) => {
		t.head?.kind === "numbers" && K(r).length ? e(E) : t.head?.kind === "values" && e(D, 1);
	});
	var te = H(T, 2), ne = (e) => {
		var n = Wm(), r = B(n), i = (e) => {
			var n = Um(), r = V(n);
			U((e) => Y(r, `${e ?? ""} null${t.head.nulls === 1 ? "" : "s"}`), [() => Us(t.head.nulls)]), dr("click", n, () => $.filter(`${nc(t.column.name)} IS NULL`)), J(e, n);
		};
		X(r, (e) => {
			t.head.nulls && e(i);
		});
		var a = H(r, 2), o = (e) => {
			var n = Rm(), r = V(n);
			U((e) => Y(r, `${e ?? ""} NaN`), [() => Us(t.head.nan)]), J(e, n);
		};
		X(a, (e) => {
			t.head.nan && e(o);
		});
		var s = H(a, 2), c = (e) => {
			var n = Rm(), r = V(n);
			U((e) => Y(r, `${e ?? ""} infinite`), [() => Us(t.head.infinite)]), J(e, n);
		};
		X(s, (e) => {
			t.head.infinite && e(c);
		}), N(n), J(e, n);
	};
	X(te, (e) => {
		t.head && (t.head.nulls || t.head.nan || t.head.infinite) && e(ne);
	}), N(v), U(() => {
		Z(v, "aria-sort", K(g)), y = Qr(v, "", y, { width: `${t.width ?? ""}px` }), Z(b, "title", `Sort by ${t.column.name ?? ""}`), Y(S, t.column.name), Y(C, K(g) === "ascending" ? "↑" : K(g) === "descending" ? "↓" : ""), Y(ee, `${K(n) ?? ""}${K(_) ?? ""}`);
	}), dr("click", b, () => $.sortBy(t.column.name)), J(e, v), Fe();
}
fr([
	"click",
	"pointerdown",
	"pointerup",
	"pointermove"
]);
// src/rows.ts
var qm = 128, Jm = 64, Ym = class {
	pages = new Map();
	wanted = [];
	running = new Map();
	parameters;
	changed;
	constructor(e, t) {
		this.parameters = e, this.changed = t;
	}
	look(e, t) {
		let n = Math.floor(e / qm), r = Math.floor(Math.max(e, t - 1) / qm);
		this.wanted = [];
		for (let e = n; e <= r; e++) this.wanted.push(e);
		for (let [e, t] of this.running) (e < n - 1 || e > r + 1) && (t.abort(), this.running.delete(e));
		for (let e of this.wanted) this.read(e);
	}
	row(e) {
		let t = Math.floor(e / qm), n = this.pages.get(t);
		return n && e - t * qm < n.rows.length ? {
			batch: n,
			place: e - t * qm
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
			let n = await Rs("rows", [
				...this.parameters,
				["start", e * qm],
				["count", qm]
			], t.signal);
			if (this.pages.set(e, n), this.pages.size > Jm) {
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
}, Xm = q("<b> </b> ", 1), Zm = q("<span class=\"busy\" aria-label=\"working\"></span>"), Qm = q("<li><code> </code><button>×</button></li>"), $m = q("<li>by <code> </code> <button aria-label=\"Do not sort\">×</button></li>"), eh = q("<li><label><input type=\"checkbox\"/> </label></li>"), th = q("<ul class=\"chips\" aria-label=\"What is chosen\"><!> <!> <!></ul>"), nh = q("<p id=\"sql-failure\" class=\"failure\" role=\"alert\"> </p>"), rh = q("<span class=\"flag\" title=\"flagged\">⚑</span>"), ih = q("<div role=\"gridcell\"> </div>"), ah = q("<div class=\"line\" role=\"row\"><div class=\"cell name\" role=\"gridcell\"> <!></div> <!></div>"), oh = q("<p class=\"empty\">No row fits these conditions.</p>"), sh = q("<p class=\"progress\"> </p>"), ch = q("<section class=\"filters\" aria-label=\"Filter\"><form><label for=\"sql\">WHERE</label> <input id=\"sql\" placeholder=\"a condition in SQL, such as speed > 10\" autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"sql-failure\"/> <button class=\"primary\" type=\"submit\">Filter</button></form> <p class=\"number\" role=\"status\"><!> <!></p> <!> <!></section> <div role=\"grid\" tabindex=\"0\"><div class=\"heads\" role=\"rowgroup\"><div role=\"row\" aria-rowindex=\"1\"><div class=\"corner\" role=\"columnheader\">row</div> <!></div></div> <div class=\"layer\" role=\"rowgroup\"></div> <div class=\"spacer\" role=\"presentation\"></div></div> <!> <!>", 1);
function lh(e, t) {
	Pe(t, !0);
	let n = 15e6, r = R(null), i = R(null), a = R(null), o = null, s = R(0), c = R(0), l = R(0), u = R(600), d = R(""), f = R(!1), p = R(void 0), m = I(() => ($.info?.index ?? []).filter((e) => !$.hidden.includes(e.name))), h = I(() => K(m).map((e) => Math.min(290, Math.max(148, 26 + 8.2 * Math.max(e.name.length + (e.unit ? 2 + e.unit.length : 0), /timestamp/.test(e.type ?? "") ? 30 : /^[iu]64$/.test(e.type ?? "") && e.unit ? 20 : 0))))), g = I(() => K(h).reduce((e, t) => e + t, 0) + 88), _ = I(() => Math.max(1, Math.floor((K(u) - 132) / 30))), v = I(() => Math.max(0, (K(r) ?? 0) - K(_))), y = I(() => Math.min((K(r) ?? 0) * 30, n)), b = I(() => Math.max(1, K(y) - (K(u) - 132))), x = I(() => Math.floor(K(c))), S = I(() => Array.from({ length: Math.max(0, Math.min(K(_) + 2, (K(r) ?? 0) - K(x))) }, (e, t) => K(x) + t));
	un(() => {
		let e = $.parameters, t = new AbortController();
		return z(i, null), z(f, !0), Ls("select", e, t.signal).then(async (n) => {
			if (z(r, n.rows, !0), z(f, !1), await $n(), t.signal.aborted) return;
			o = new Ym(e, (e) => {
				e ? z(i, e, !0) : Lt(s);
			});
			let c = Math.min($.row, Math.max(0, n.rows - 1));
			z(l, c, !0), ee($.where.length || $.sort ? 0 : c), Lt(s), zs("heads", e, (e) => z(a, e), t.signal).catch((e) => {
				t.signal.aborted || z(i, e, !0);
			});
		}).catch((e) => {
			t.signal.aborted || (z(f, !1), z(i, e, !0));
		}), () => {
			t.abort(), o?.close();
		};
	}), un(() => {
		K(s), K(r) && o?.look(K(x), Math.min(K(r), K(x) + K(_) + 2));
	});
	let C = (e) => (K(s), o?.row(e) ?? null), w = -1;
	function ee(e) {
		z(c, Math.min(Math.max(0, e), K(v)), !0), K(p) && (w = K(v) ? Math.round(K(c) / K(v) * K(b)) : 0, K(p).scrollTop = w);
	}
	function T() {
		K(p) && (Math.abs(K(p).scrollTop - w) < 1.5 || (w = K(p).scrollTop, z(c, Math.min(K(v), w / K(b) * K(v)), !0)));
	}
	function E(e) {
		e.ctrlKey || !e.deltaY || K(y) < n || (e.preventDefault(), ee(K(c) + (e.deltaMode ? e.deltaY : e.deltaY / 30)));
	}
	function D(e) {
		z(l, Math.min(Math.max(0, e), Math.max(0, (K(r) ?? 0) - 1)), !0), K(l) < K(c) ? ee(K(l)) : K(l) > K(c) + K(_) - 1 && ee(K(l) - K(_) + 1);
	}
	let te = {
		ArrowDown: () => D(K(l) + 1),
		ArrowUp: () => D(K(l) - 1),
		PageDown: () => D(K(l) + K(_)),
		PageUp: () => D(K(l) - K(_)),
		Home: () => D(0),
		End: () => D((K(r) ?? 1) - 1),
		Enter: () => O(K(l))
	};
	function ne(e) {
		if (e.target !== K(p) || e.altKey || e.ctrlKey || e.metaKey) return;
		let t = te[e.key];
		t && (e.preventDefault(), t());
	}
	function O(e) {
		let t = C(e);
		t && $.open(t.batch.rows[t.place]);
	}
	function re(e) {
		e.key === "/" && !(e.target instanceof HTMLInputElement) && (e.preventDefault(), document.getElementById("sql")?.focus());
	}
	function ie(e) {
		e.preventDefault(), K(d).trim() && $.filter(K(d).trim()), z(d, "");
	}
	un(() => {
		let e = K(p);
		return e?.addEventListener("wheel", E, { passive: !1 }), () => e?.removeEventListener("wheel", E);
	});
	var ae = ch();
	ur("keydown", Ut, re);
	var oe = Zt(ae), se = B(oe), ce = H(B(se), 2);
	li(ce), ve(2), N(se);
	var le = H(se, 2), k = B(le), A = (e) => {
		J(e, Sr("…"));
	}, ue = (e) => {
		var t = Xm(), n = Zt(t), i = V(n, !0), a = H(n);
		U((e, t) => {
			Y(i, e), Y(a, ` ${t ?? ""}`);
		}, [() => Us(K(r)), () => K(r) === $.info?.rows ? K(r) === 1 ? "row" : "rows" : `of ${Ws($.info?.rows ?? 0, "row")}`]), J(e, t);
	};
	X(k, (e) => {
		K(r) === null ? e(A) : e(ue, -1);
	});
	var de = H(k, 2), fe = (e) => {
		J(e, Zm());
	};
	X(de, (e) => {
		K(f) && e(fe);
	}), N(le);
	var pe = H(le, 2), me = (e) => {
		var t = th(), n = B(t);
		zr(n, 17, () => $.where, Fr, (e, t) => {
			var n = Qm(), r = B(n), i = V(r, !0), a = H(r);
			N(n), U(() => {
				Y(i, K(t)), Z(a, "aria-label", `Remove ${K(t) ?? ""}`);
			}), dr("click", a, () => $.drop(K(t))), J(e, n);
		});
		var r = H(n, 2), i = (e) => {
			var t = $m(), n = H(B(t)), r = V(n, !0), i = H(n), a = H(i);
			N(t), U(() => {
				Y(r, $.sort), Y(i, `${$.descending ? " ↓" : " ↑"} `);
			}), dr("click", a, () => {
				$.sort = null, $.write(!0);
			}), J(e, t);
		};
		X(r, (e) => {
			$.sort && e(i);
		});
		var a = H(r, 2), o = (e) => {
			var t = eh(), n = B(t), r = B(n);
			li(r);
			var i = H(r);
			N(n), N(t), U((e) => {
				di(r, $.flagged), Y(i, ` only the ${e ?? ""}`);
			}, [() => Ws($.flags.length, "flagged row")]), dr("change", r, (e) => {
				$.flagged = e.currentTarget.checked, $.write(!0);
			}), J(e, t);
		};
		X(a, (e) => {
			$.flags.length && e(o);
		}), N(t), J(e, t);
	};
	X(pe, (e) => {
		($.where.length || $.flags.length || $.sort) && e(me);
	});
	var j = H(pe, 2), he = (e) => {
		var t = nh(), n = V(t, !0);
		U(() => Y(n, K(i).message)), J(e, t);
	};
	X(j, (e) => {
		K(i) && e(he);
	}), N(oe);
	var M = H(oe, 2);
	let ge;
	var _e = B(M);
	let ye;
	var be = B(_e);
	zr(H(B(be), 2), 19, () => K(m), (e) => e.name, (e, t, n) => {
		{
			let r = I(() => K(a)?.columns[K(t).name] ?? null);
			Km(e, {
				get column() {
					return K(t);
				},
				get width() {
					return K(h)[K(n)];
				},
				get head() {
					return K(r);
				}
			});
		}
	}), N(be), N(_e);
	var xe = H(_e, 2);
	let Se;
	zr(xe, 21, () => K(S), Fr, (e, t) => {
		let n = I(() => C(K(t))), r = I(() => K(n)?.batch.rows[K(n).place]);
		var i = ah();
		let a;
		var o = B(i), s = B(o, !0), u = H(s), d = (e) => {
			J(e, rh());
		}, f = I(() => K(r) != null && $.flags.includes(K(r)));
		X(u, (e) => {
			K(f) && e(d);
		}), N(o), zr(H(o, 2), 19, () => K(m), (e) => e.name, (e, t, r) => {
			let i = I(() => K(n)?.batch.value(K(t).name, K(n).place)), a = I(() => K(n)?.batch.types.get(K(t).name) ?? "");
			var o = ih();
			let s, c;
			var l = V(o, !0);
			U((e, t) => {
				s = Xr(o, 1, "cell", null, s, {
					right: e,
					null: K(n) && K(i) === null
				}), c = Qr(o, "", c, { width: `${K(h)[K(r)] ?? ""}px` }), Y(l, t);
			}, [() => Zs(K(t).type) && K(t).type !== "bool", () => K(n) ? $s(K(i), K(a)) : ""]), J(e, o);
		}), N(i), U((e) => {
			Z(i, "id", `row-${K(t) ?? ""}`), Z(i, "aria-rowindex", K(t) + 2), Z(i, "aria-selected", K(t) === K(l)), a = Qr(i, "", a, { transform: `translateY(${(K(t) - K(c)) * 30}px)` }), Y(s, e);
		}, [() => K(r) == null ? "" : Us(K(r))]), dr("click", i, () => {
			z(l, K(t), !0), O(K(t));
		}), J(e, i);
	}), N(xe);
	var Ce = H(xe, 2);
	let we;
	N(M), xi(M, (e) => z(p, e), () => K(p));
	var Te = H(M, 2), P = (e) => {
		J(e, oh());
	};
	X(Te, (e) => {
		K(r) === 0 && e(P);
	});
	var F = H(Te, 2), Ee = (e) => {
		var t = sh(), n = V(t);
		U((e, t) => Y(n, `heads: ${e ?? ""} of ${t ?? ""}`), [() => Us(K(a).done), () => Ws(K(a).of, "row")]), J(e, t);
	};
	X(F, (e) => {
		K(a) && K(a).done < K(a).of && e(Ee);
	}), U(() => {
		ge = Xr(M, 1, "grid", null, ge, { stale: K(f) }), Z(M, "aria-label", `Rows of ${$.info?.name ?? ""}`), Z(M, "aria-rowcount", (K(r) ?? 0) + 1), Z(M, "aria-colcount", K(m).length + 1), Z(M, "aria-activedescendant", K(r) ? `row-${K(l)}` : void 0), ye = Qr(_e, "", ye, { width: `${K(g) ?? ""}px` }), Se = Qr(xe, "", Se, { width: `${K(g) ?? ""}px` }), we = Qr(Ce, "", we, { height: `${K(y) ?? ""}px` });
	}), ur("submit", se, ie), hi(ce, () => K(d), (e) => z(d, e)), ur("scroll", M, T), dr("keydown", M, ne), yi(M, "clientHeight", (e) => z(u, e)), J(e, ae), Fe();
}
fr([
	"click",
	"change",
	"keydown"
]);
// src/App.svelte
var uh = q("<option> </option>"), dh = q("<select aria-label=\"Table\"></select>"), fh = q("<h1><!></h1> <p class=\"about\"><!> </p> <nav aria-label=\"Pages\"><button class=\"tab\">Rows</button> <button class=\"tab\">Row<!></button></nav> <!>", 1), ph = q("<div class=\"notice\" role=\"alert\"><h1> </h1> <p> </p></div>"), mh = q("<p class=\"notice\" role=\"status\">Opening …</p>"), hh = q("<header class=\"top\"><a class=\"mark\" href=\"/\" aria-label=\"Tetrys, all rows\"><img src=\"/icon.svg\" alt=\"\" width=\"22\" height=\"22\"/></a> <!></header> <main><!></main> <div class=\"toast\" role=\"status\" aria-live=\"polite\"> </div>", 1);
function gh(e, t) {
	Pe(t, !0);
	let n = R(null);
	$.load().catch((e) => z(n, e, !0)), un(() => {
		document.title = $.info ? `${$.info.name} · Tetrys` : "Tetrys";
	});
	var r = hh(), i = Zt(r), a = H(B(i), 2), o = (e) => {
		var t = fh(), n = Zt(t), r = B(n), i = (e) => {
			var t = dh();
			zr(t, 21, () => $.tables, Fr, (e, t, n) => {
				var r = uh(), i = V(r, !0);
				r.value = r.__value = n, U(() => Y(i, K(t).name)), J(e, r);
			}), N(t);
			var n;
			ni(t), U(() => {
				n !== (n = $.table) && (t.value = (t.__value = n) ?? "", ti(t, n));
			}), dr("change", t, (e) => $.choose(Number(e.currentTarget.value))), J(e, t);
		}, a = (e) => {
			var t = Sr();
			U(() => Y(t, $.info.name)), J(e, t);
		};
		X(r, (e) => {
			$.tables.length > 1 ? e(i) : e(a, -1);
		}), N(n);
		var o = H(n, 2), s = B(o), c = (e) => {
			J(e, Sr("a selection of"));
		};
		X(s, (e) => {
			$.info.selection && e(c);
		});
		var l = H(s);
		N(o);
		var u = H(o, 2), d = B(u), f = H(d, 2), p = H(B(f)), m = (e) => {
			var t = Sr();
			U((e) => Y(t, ` ${e ?? ""}`), [() => Us($.row)]), J(e, t);
		};
		X(p, (e) => {
			$.page === "row" && e(m);
		}), N(f), N(u), _c(H(u, 2), {}), U((e) => {
			Y(l, ` ${$.info.view ? "view, " : ""}version ${$.info.version ?? ""} · ${e ?? ""}`), Z(d, "aria-current", $.page === "rows" ? "page" : void 0), Z(f, "aria-current", $.page === "row" ? "page" : void 0), f.disabled = !$.info.rows;
		}, [() => Ws($.info.rows, "row")]), dr("click", d, () => $.show("rows")), dr("click", f, () => $.show("row")), J(e, t);
	};
	X(a, (e) => {
		$.info && e(o);
	}), N(i);
	var s = H(i, 2), c = B(s), l = (e) => {
		var t = ph(), r = B(t), i = V(r, !0), a = V(H(r, 2), !0);
		N(t), U(() => {
			Y(i, K(n).kind === "Refused" ? "This page has no access" : "Nothing to show"), Y(a, K(n).message);
		}), J(e, t);
	}, u = (e) => {
		J(e, mh());
	}, d = (e) => {
		var t = Cr();
		Pr(Zt(t), () => $.table, (e) => {
			Fm(e, {});
		}), J(e, t);
	}, f = (e) => {
		var t = Cr();
		Pr(Zt(t), () => $.table, (e) => {
			lh(e, {});
		}), J(e, t);
	};
	X(c, (e) => {
		K(n) ? e(l) : $.info ? $.page === "row" && $.info.rows ? e(d, 2) : e(f, -1) : e(u, 1);
	}), N(s);
	var p = V(H(s, 2), !0);
	U(() => Y(p, $.said)), J(e, r), Fe();
}
// src/main.ts
fr(["change", "click"]), Or(gh, { target: document.getElementById("app") });
