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
var h = 1024, g = 2048, _ = 4096, v = 8192, y = 16384, b = 32768, x = 1 << 25, S = 65536, C = 1 << 19, w = 1 << 20, ee = 1 << 25, T = 1 << 21, E = 1 << 22, D = 1 << 23, te = Symbol("$state"), ne = Symbol("component"), re = Symbol(""), ie = Symbol("attributes"), ae = Symbol("class"), oe = Symbol("style"), se = Symbol("text"), ce = Symbol("form reset"), le = new class extends Error {
	name = "StaleReactionError";
	message = "The reaction that called `getAbortSignal()` was re-run or destroyed";
}(), ue = !!globalThis.document?.contentType && globalThis.document.contentType.includes("xml"), O = {}, k = Symbol("uninitialized"), de = "http://www.w3.org/1999/xhtml";
function fe() {
	console.warn("https://svelte.dev/e/derived_inert");
}
function pe(e) {
	console.warn("https://svelte.dev/e/hydration_mismatch");
}
function me() {
	console.warn("https://svelte.dev/e/select_multiple_invalid_value");
}
function he() {
	console.warn("https://svelte.dev/e/svelte_boundary_reset_noop");
}
// node_modules/svelte/src/internal/client/dom/hydration.js
var A = !1;
function ge(e) {
	A = e;
}
var j;
function _e(e) {
	if (e === null) throw pe(), O;
	return j = e;
}
function ve() {
	return _e(Zt(j));
}
function M(e) {
	if (A) {
		if (Zt(j) !== null) throw pe(), O;
		j = e;
	}
}
function ye(e = 1) {
	if (A) {
		for (var t = e, n = j; t--;) n = Zt(n);
		j = n;
	}
}
function be(e = !0) {
	for (var t = 0, n = j;;) {
		if (n.nodeType === 8) {
			var r = n.data;
			if (r === "]") {
				if (t === 0) return n;
				--t;
			} else (r === "[" || r === "[!" || r[0] === "[" && !isNaN(Number(r.slice(1)))) && (t += 1);
		}
		var i = Zt(n);
		e && n.remove(), n = i;
	}
}
function xe(e) {
	if (!e || e.nodeType !== 8) throw pe(), O;
	return e.data;
}
// node_modules/svelte/src/internal/client/reactivity/equality.js
function Se(e) {
	return e === this.v;
}
function Ce(e, t) {
	return e == e ? e !== t || typeof e == "object" && !!e || typeof e == "function" : t == t;
}
function we(e) {
	return !Ce(e, this.v);
}
// node_modules/svelte/src/internal/client/errors.js
function Te() {
	throw Error("https://svelte.dev/e/async_derived_orphan");
}
function Ee(e, t, n) {
	throw Error("https://svelte.dev/e/each_key_duplicate");
}
function N(e) {
	throw Error("https://svelte.dev/e/effect_in_teardown");
}
function P() {
	throw Error("https://svelte.dev/e/effect_in_unowned_derived");
}
function De(e) {
	throw Error("https://svelte.dev/e/effect_orphan");
}
function Oe() {
	throw Error("https://svelte.dev/e/effect_update_depth_exceeded");
}
function ke() {
	throw Error("https://svelte.dev/e/state_descriptors_fixed");
}
function Ae() {
	throw Error("https://svelte.dev/e/state_prototype_fixed");
}
function je() {
	throw Error("https://svelte.dev/e/state_unsafe_mutation");
}
function Me() {
	throw Error("https://svelte.dev/e/svelte_boundary_reset_onerror");
}
// node_modules/svelte/src/internal/client/context.js
var Ne = null;
function Pe(e) {
	Ne = e;
}
function Fe(e, t = !1, n) {
	Ne = {
		p: Ne,
		i: !1,
		c: null,
		e: null,
		s: e,
		x: null,
		r: W,
		l: null
	};
}
function Ie(e) {
	var t = Ne, n = t.e;
	if (n !== null) {
		t.e = null;
		for (var r of n) fn(r);
	}
	return e !== void 0 && (t.x = e), t.i = !0, Ne = t.p, Le(e);
}
function Le(e = {}) {
	return i(e, ne, { value: !0 }), e;
}
function Re() {
	return !0;
}
// node_modules/svelte/src/internal/client/dom/task.js
var ze = [];
function Be() {
	var e = ze;
	ze = [], f(e);
}
function Ve(e) {
	if (ze.length === 0 && !ht) {
		var t = ze;
		queueMicrotask(() => {
			t === ze && Be();
		});
	}
	ze.push(e);
}
function He() {
	for (; ze.length > 0;) Be();
}
// node_modules/svelte/src/internal/client/reactivity/status.js
var Ue = ~(g | _ | h);
function We(e, t) {
	e.f = e.f & Ue | t;
}
function Ge(e) {
	e.f & 512 || e.deps === null ? We(e, h) : We(e, _);
}
// node_modules/svelte/src/internal/client/reactivity/utils.js
function Ke(e, t) {
	e.f & 2048 ? t.set(e, g) : e.f & 4096 && t.get(e) !== 2048 && t.set(e, _), We(e, h);
}
// node_modules/svelte/src/internal/client/dom/elements/misc.js
function qe(e, t) {
	if (t) {
		let t = document.body;
		e.autofocus = !0, Ve(() => {
			document.activeElement === t && e.focus();
		});
	}
}
var Je = !1;
function Ye() {
	Je || (Je = !0, document.addEventListener("reset", (e) => {
		Promise.resolve().then(() => {
			if (!e.defaultPrevented) for (let t of e.target.elements) t[ce]?.();
		});
	}, { capture: !0 }));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/shared.js
function Xe(e) {
	var t = U, n = W;
	Pn(null), Fn(null);
	try {
		return e();
	} finally {
		Pn(t), Fn(n);
	}
}
function Ze(e, t, n, r = n) {
	e.addEventListener(t, () => Xe(n));
	let i = e[ce];
	e[ce] = i ? () => {
		i(), r(!0);
	} : () => r(!0), Ye();
}
// node_modules/svelte/src/internal/client/reactivity/async.js
function Qe(e, t, n, r) {
	let i = Re() ? nt : at;
	var a = e.filter((e) => !e.settled), o = t.map(i);
	if (n.length === 0 && a.length === 0) {
		r(o);
		return;
	}
	var s = W, c = $e(), l = a.length === 1 ? a[0].promise : a.length > 1 ? Promise.all(a.map((e) => e.promise)) : null;
	function u(e) {
		if (!(s.f & 16384)) {
			c();
			try {
				r([...o, ...e]);
			} catch (e) {
				an(e, s);
			}
			et();
		}
	}
	var d = tt();
	if (n.length === 0) {
		l.then(() => u([])).finally(d);
		return;
	}
	function f() {
		Promise.all(n.map((e) => it(e))).then(u).catch((e) => an(e, s)).finally(d);
	}
	l ? l.then(() => {
		s.f & 16384 ? d() : (c(), f(), et());
	}) : f();
}
function $e() {
	var e = W, t = U, n = Ne, r = I;
	return function(i = !0) {
		Fn(e), Pn(t), Pe(n), i && !(e.f & 16384) && (r?.activate(), r?.apply());
	};
}
function et(e = !0) {
	Fn(null), Pn(null), Pe(null), e && I?.deactivate();
}
function tt() {
	var e = W, t = e.b, n = I, r = !!t?.is_rendered();
	return t?.update_pending_count(1, n), n.increment(r, e), () => {
		t?.update_pending_count(-1, n), n.decrement(r, e);
	};
}
function nt(e) {
	var t = 2 | g;
	return W !== null && (W.f |= C), {
		ctx: Ne,
		deps: null,
		effects: null,
		equals: Se,
		f: t,
		fn: e,
		reactions: null,
		rv: 0,
		v: k,
		wv: 0,
		parent: W,
		ac: null
	};
}
var rt = Symbol("obsolete");
function it(e, t, n) {
	let r = W;
	r === null && Te();
	var i = void 0, a = Mt(k), o = !U, s = new Set();
	return hn(() => {
		var t = W, n = p();
		i = n.promise;
		try {
			Promise.resolve(e()).then(n.resolve, (e) => {
				e !== le && n.reject(e);
			}).finally(et);
		} catch (e) {
			n.reject(e), et();
		}
		var c = I;
		if (o) {
			if (t.f & 32768) var l = tt();
			if (r.b?.is_rendered()) c.async_deriveds.get(t)?.reject(rt);
			else for (let e of s.values()) e.reject(rt);
			s.add(n), c.async_deriveds.set(t, n);
		}
		let u = (e, t = void 0) => {
			l?.(), s.delete(n), t !== rt && (c.activate(), t ? (a.f |= D, It(a, t)) : (a.f & 8388608 && (a.f ^= D), It(a, e)), c.deactivate());
		};
		n.promise.then(u, (e) => u(null, e || "unknown"));
	}), un(() => {
		for (let e of s) e.reject(rt);
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
function F(e) {
	let t = nt(e);
	return Ln(t), t;
}
function at(e) {
	let t = nt(e);
	return t.equals = we, t;
}
function ot(e) {
	var t = e.effects;
	if (t !== null) {
		e.effects = null;
		for (var n = 0; n < t.length; n += 1) Sn(t[n]);
	}
}
function st(e) {
	var t, n = W, r = e.parent;
	if (!jn && r !== null && e.v !== k && r.f & 24576) return fe(), e.v;
	Fn(r);
	try {
		ot(e), t = Yn(e);
	} finally {
		Fn(n);
	}
	return t;
}
function ct(e) {
	var t = st(e);
	!e.equals(t) && (e.wv = Kn(), (!I?.is_fork || e.deps === null) && (I === null ? e.v = t : (I.capture(e, t, !0), ft?.capture(e, t, !0)), e.deps === null)) ? We(e, h) : jn || (pt === null ? Ge(e) : (ln() || I?.is_fork) && pt.set(e, t));
}
function lt(e) {
	if (e.effects !== null) for (let t of e.effects) (t.teardown || t.ac) && (t.teardown?.(), t.ac !== null && Xe(() => {
		t.ac.abort(le), t.ac = null;
	}), t.fn !== null && (t.teardown = d), Qn(t, 0), bn(t));
}
function ut(e) {
	if (e.effects !== null) for (let t of e.effects) t.teardown && t.fn !== null && $n(t);
}
// node_modules/svelte/src/internal/client/reactivity/batch.js
var dt = null, I = null, ft = null, pt = null, mt = null, ht = !1, gt = !1, _t = null, vt = null, yt = 0, bt = 1, xt = class e {
	id = bt++;
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
		dt === null ? dt = this : (dt.next = this, this.prev = dt), dt = this;
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
			for (var r of n.d) We(r, g), t(r);
			for (r of n.m) We(r, _), t(r);
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
		for (let [e, t] of this.#s) We(e, t), this.schedule(e);
		this.apply();
		for (var t = _t = [], n = [], r = vt = []; this.#a.length > 0;) {
			yt++ > 1e3 && (this.#b(), Ct());
			for (let e of this.#p()) try {
				this.#h(e, t, n);
			} catch (t) {
				throw Ot(e), this.#d() || this.discard(), t;
			}
		}
		if (I = null, r.length > 0) {
			var i = e.ensure();
			for (let e of r) i.schedule(e);
		}
		if (_t = null, vt = null, this.#d()) {
			this.#y(n), this.#y(t);
			for (let [e, t] of this.#c) Dt(e, t);
			r.length > 0 && I.#m();
			return;
		}
		let a = this.#g();
		if (a) this.#y(n), this.#y(t), a.#v(this);
		else {
			this.#s.clear();
			for (let e of this.#e) e(this);
			this.#e.clear(), ft = this, Tt(n), Tt(t), ft = null, this.#i?.resolve();
			var o = I;
			this.#n === 0 && (this.#a.length === 0 || o !== null) && this.#b(), o !== null && (At.clear(), o.#m());
		}
	}
	#h(e, t, n) {
		e.f ^= h;
		for (var r = e.first; r !== null;) {
			var i = r.f, a = !!(i & 96);
			if (!(a && i & 1024 || i & 8192 || this.#c.has(r)) && r.fn !== null) {
				a ? r.f ^= h : i & 4 ? t.push(r) : qn(r) && (i & 16 && this.add_dirty_reaction(r, _), $n(r));
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
					r & 4194320 && !this.async_deriveds.has(i) && (this.#s.delete(i), We(i, g), this.schedule(i));
				}
			}
		};
		for (let e of this.current.keys()) t(e);
		this.oncommit(() => e.discard()), e.#b(), I = this, this.#m();
	}
	#y(e) {
		for (var t = 0; t < e.length; t += 1) Ke(e[t], this.#s);
	}
	capture(e, t, n = !1) {
		e.v !== k && !this.previous.has(e) && this.previous.set(e, e.v), e.f & 8388608 || (this.current.set(e, [t, n]), pt?.set(e, t)), this.is_fork || (e.v = t);
	}
	activate() {
		I = this;
	}
	deactivate() {
		I = null, pt = null;
	}
	flush() {
		try {
			gt = !0, I = this, this.#m();
		} finally {
			yt = 0, mt = null, _t = null, vt = null, gt = !1, I = null, pt = null, At.clear();
		}
	}
	discard() {
		for (let e of this.#t) e(this);
		this.#t.clear();
		for (let e of this.async_deriveds.values()) e.reject(rt);
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
		this.#u || (this.#u = !0, Ve(() => {
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
		if (I === null) {
			let t = I = new e();
			!gt && !ht && Ve(() => {
				t.started || t.flush();
			});
		}
		return I;
	}
	apply() {
		pt = null;
	}
	schedule(e) {
		mt = e, e.b?.is_pending && e.f & 16777228 && !(e.f & 32768) ? e.b.defer_effect(e) : this.#a.push(e);
	}
	#b() {
		if (this.linked) {
			var e = this.prev, t = this.next;
			e === null || (e.next = t), t === null ? dt = e : t.prev = e, this.linked = !1;
		}
	}
};
function St(e) {
	var t = ht, n = ft;
	ft = null, ht = !0;
	try {
		var r;
		for (e && (St(), r = e());;) {
			if (He(), I === null) return r;
			I.flush();
		}
	} finally {
		ht = t, ft = n;
	}
}
function Ct() {
	try {
		Oe();
	} catch (e) {
		an(e, mt);
	}
}
var wt = null;
function Tt(e) {
	var t = e.length;
	if (t !== 0) {
		for (var n = 0; n < t;) {
			var r = e[n++];
			if (!(r.f & 24576) && qn(r) && (wt = new Set(), $n(r), r.deps === null && r.first === null && r.nodes === null && r.teardown === null && r.ac === null && wn(r), wt?.size > 0)) {
				At.clear();
				for (let e of wt) {
					if (e.f & 24576) continue;
					let t = [e], n = e.parent;
					for (; n !== null;) wt.has(n) && (wt.delete(n), t.push(n)), n = n.parent;
					for (let e = t.length - 1; e >= 0; e--) {
						let n = t[e];
						n.f & 24576 || $n(n);
					}
				}
				wt.clear();
			}
		}
		wt = null;
	}
}
function Et(e) {
	I.schedule(e);
}
function Dt(e, t) {
	if (!(e.f & 32 && e.f & 1024)) {
		e.f & 2048 ? t.d.push(e) : e.f & 4096 && t.m.push(e), We(e, h);
		for (var n = e.first; n !== null;) Dt(n, t), n = n.next;
	}
}
function Ot(e) {
	We(e, h);
	for (var t = e.first; t !== null;) Ot(t), t = t.next;
}
// node_modules/svelte/src/internal/client/reactivity/sources.js
var kt = new Set(), At = new Map(), jt = !1;
function Mt(e, t) {
	return {
		f: 0,
		v: e,
		reactions: null,
		equals: Se,
		rv: 0,
		wv: 0
	};
}
function L(e, t) {
	let n = Mt(e, t);
	return Ln(n), n;
}
function Nt(e, t = !1, n = !0) {
	let r = Mt(e);
	return t || (r.equals = we), r;
}
function R(e, t, n = !1) {
	return U !== null && (!Nn || U.f & 131072) && Re() && U.f & 4325394 && (In === null || !In.has(e)) && je(), It(e, n ? Vt(t) : t, vt);
}
var Pt = null, Ft = 0;
function It(e, t, n = null) {
	if (!e.equals(t)) {
		jn ? At.set(e, t) : At.has(e) || At.set(e, e.v);
		var r = xt.ensure();
		if (r.capture(e, t), e.f & 2) {
			let t = e;
			e.f & 2048 && st(t), pt === null && Ge(t);
		}
		e.wv = Kn(), Pt = null, Ft = 0, Bt(e, g, n), Pt = null, Re() && W !== null && W.f & 1024 && !(W.f & 96) && (Bn === null ? Vn([e]) : Bn.push(e)), !r.is_fork && kt.size > 0 && !jt && Lt();
	}
	return t;
}
function Lt() {
	jt = !1;
	for (let e of kt) {
		e.f & 1024 && We(e, _);
		let t;
		try {
			t = qn(e);
		} catch {
			t = !0;
		}
		t && $n(e);
	}
	kt.clear();
}
function Rt(e, t = 1) {
	var n = G(e), r = t === 1 ? n++ : n--;
	return R(e, n), r;
}
function zt(e) {
	R(e, e.v + 1);
}
function Bt(e, t, n) {
	var r = e.reactions;
	if (r !== null) {
		var i = Re(), a = r.length;
		if (Ft += a, Ft > 1e5 && Pt === null && (Pt = new Set()), Pt !== null) {
			if (Pt.has(e)) return;
			Pt.add(e);
		}
		for (var o = 0; o < a; o++) {
			var s = r[o], c = s.f;
			if (i || s !== W) {
				var l = (c & g) === 0;
				if (l && We(s, t), c & 131072) kt.add(s);
				else if (c & 2) {
					var u = s;
					pt?.delete(u), Bt(u, _, n);
				} else if (l) {
					var d = s;
					c & 16 && wt !== null && wt.add(d), n === null ? Et(d) : n.push(d);
				}
			}
		}
	}
}
function Vt(t) {
	if (typeof t != "object" || !t || te in t || ne in t) return t;
	let n = l(t);
	if (n !== s && n !== c) return t;
	var r = new Map(), i = e(t), o = L(0), u = null, d = Wn, f = (e) => {
		if (Wn === d) return e();
		var t = U, n = Wn;
		Pn(null), Gn(d);
		var r = e();
		return Pn(t), Gn(n), r;
	};
	return i && r.set("length", L(t.length, u)), new Proxy(t, {
		defineProperty(e, t, n) {
			"value" in n && n.configurable !== !1 && n.enumerable !== !1 && n.writable !== !1 || ke();
			var i = r.get(t);
			return i === void 0 ? f(() => {
				var e = L(n.value, u);
				return r.set(t, e), e;
			}) : R(i, n.value, !0), !0;
		},
		deleteProperty(e, t) {
			var n = r.get(t);
			if (n === void 0) {
				if (t in e) {
					let e = f(() => L(k, u));
					r.set(t, e), zt(o);
				}
			} else R(n, k), zt(o);
			return !0;
		},
		get(e, n, i) {
			if (n === te) return t;
			var o = r.get(n), s = n in e;
			if (o === void 0 && (!s || a(e, n)?.writable) && (o = f(() => L(Vt(s ? e[n] : k), u)), r.set(n, o)), o !== void 0) {
				var c = G(o);
				return c === k ? void 0 : c;
			}
			return Reflect.get(e, n, i);
		},
		getOwnPropertyDescriptor(e, t) {
			this.has?.(e, t);
			var n = Reflect.getOwnPropertyDescriptor(e, t), i = r.get(t);
			if (i !== void 0) {
				var a = G(i);
				if (a === k) return;
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
			var n = r.get(t), i = n !== void 0 && n.v !== k || Reflect.has(e, t);
			return (n !== void 0 || (W !== null || U !== null) && (!i || a(e, t)?.writable)) && (n === void 0 && (n = f(() => L(i ? Vt(e[t]) : k, u)), r.set(t, n)), G(n) === k) ? !1 : i;
		},
		set(e, t, n, s) {
			var c = r.get(t), l = t in e;
			if (i && t === "length") for (var d = n; d < c.v; d += 1) {
				var p = r.get(d + "");
				p === void 0 ? d in e && (p = f(() => L(k, u)), r.set(d + "", p)) : R(p, k);
			}
			if (c === void 0) (!l || a(e, t)?.writable) && (c = f(() => L(void 0, u)), R(c, Vt(n)), r.set(t, c));
			else {
				l = c.v !== k;
				var m = f(() => Vt(n));
				R(c, m);
			}
			var h = Reflect.getOwnPropertyDescriptor(e, t);
			if (h?.set && h.set.call(s, n), !l) {
				if (i && typeof t == "string") {
					var g = r.get("length"), _ = Number(t);
					Number.isInteger(_) && _ >= g.v && R(g, _ + 1);
				}
				zt(o);
			}
			return !0;
		},
		ownKeys(e) {
			G(o);
			var t = Reflect.ownKeys(e).filter((e) => {
				var t = r.get(e);
				return t === void 0 || t.v !== k;
			});
			for (var [n, i] of r) i.v !== k && !(n in e) && t.push(n);
			return t;
		},
		setPrototypeOf() {
			Ae();
		}
	});
}
function Ht(e) {
	try {
		if (typeof e == "object" && e && te in e) return e[te];
	} catch {}
	return e;
}
function Ut(e, t) {
	return Object.is(Ht(e), Ht(t));
}
var Wt, Gt, Kt, qt;
function Jt() {
	if (Wt === void 0) {
		Wt = window, Gt = /Firefox/.test(navigator.userAgent);
		var e = Element.prototype, t = Node.prototype, n = Text.prototype;
		Kt = a(t, "firstChild").get, qt = a(t, "nextSibling").get, u(e) && (e[ae] = void 0, e[ie] = null, e[oe] = void 0, e.__e = void 0), u(n) && (n[se] = void 0);
	}
}
function Yt(e = "") {
	return document.createTextNode(e);
}
function Xt(e) {
	return Kt.call(e);
}
function Zt(e) {
	return qt.call(e);
}
function z(e, t) {
	if (!A) return Xt(e);
	var n = Xt(j);
	if (n === null) n = j.appendChild(Yt());
	else if (t && n.nodeType !== 3) {
		var r = Yt();
		return n?.before(r), _e(r), r;
	}
	return t && nn(n), _e(n), n;
}
function Qt(e, t = !1) {
	if (!A) {
		var n = Xt(e);
		return n instanceof Comment && n.data === "" ? Zt(n) : n;
	}
	if (t) {
		if (j?.nodeType !== 3) {
			var r = Yt();
			return j?.before(r), _e(r), r;
		}
		nn(j);
	}
	return j;
}
function B(e, t = !1) {
	if (!A) return Xt(e);
	var n = z(e, t);
	return M(e), n;
}
function V(e, t = 1, n = !1) {
	let r = A ? j : e;
	for (var i; t--;) i = r, r = Zt(r);
	if (!A) return r;
	if (n) {
		if (r?.nodeType !== 3) {
			var a = Yt();
			return r === null ? i?.after(a) : r.before(a), _e(a), a;
		}
		nn(r);
	}
	return _e(r), r;
}
function $t(e) {
	e.textContent = "";
}
function en() {
	return !1;
}
function tn(e, t, n) {
	return t == null || t === "http://www.w3.org/1999/xhtml" ? n ? document.createElement(e, { is: n }) : document.createElement(e) : n ? document.createElementNS(t, e, { is: n }) : document.createElementNS(t, e);
}
function nn(e) {
	if (e.nodeValue.length < 65536) return;
	let t = e.nextSibling;
	for (; t !== null && t.nodeType === 3;) t.remove(), e.nodeValue += t.nodeValue, t = e.nextSibling;
}
function rn(e) {
	var t = W;
	if (t === null) return U.f |= D, e;
	if (!(t.f & 32768) && !(t.f & 4)) throw e;
	an(e, t);
}
function an(e, t) {
	if (e === O) throw e;
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
function on(e) {
	W === null && (U === null && De(e), P()), jn && N(e);
}
function sn(e, t) {
	var n = t.last;
	n === null ? t.last = t.first = e : (n.next = e, e.prev = n, t.last = e);
}
function cn(e, t) {
	var n = W;
	n !== null && n.f & 8192 && (e |= v);
	var r = {
		ctx: Ne,
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
	I?.register_created_effect(r);
	var i = r;
	if (e & 4) _t === null ? xt.ensure().schedule(r) : _t.push(r);
	else if (t !== null) {
		try {
			$n(r);
		} catch (e) {
			throw Sn(r), e;
		}
		i.deps === null && i.teardown === null && i.nodes === null && i.first === i.last && !(i.f & 524288) && (i = i.first, e & 16 && e & 65536 && i !== null && (i.f |= S));
	}
	if (i !== null && (i.parent = n, n !== null && sn(i, n), U !== null && U.f & 2 && !(e & 64))) {
		var a = U;
		(a.effects ??= []).push(i);
	}
	return r;
}
function ln() {
	return U !== null && !Nn;
}
function un(e) {
	let t = cn(8, null);
	return We(t, h), t.teardown = e, t;
}
function dn(e) {
	on("$effect");
	var t = W.f;
	if (!U && t & 32 && Ne !== null && !Ne.i) {
		var n = Ne;
		(n.e ??= []).push(e);
	} else return fn(e);
}
function fn(e) {
	return cn(4 | w, e);
}
function pn(e) {
	xt.ensure();
	let t = cn(64 | C, e);
	return (e = {}) => new Promise((n) => {
		e.outro ? Tn(t, () => {
			Sn(t), n(void 0);
		}) : (Sn(t), n(void 0));
	});
}
function mn(e) {
	return cn(4, e);
}
function hn(e) {
	return cn(E | C, e);
}
function gn(e, t = 0) {
	return cn(8 | t, e);
}
function H(e, t = [], n = [], r = []) {
	Qe(r, t, n, (t) => {
		cn(8, () => {
			e(...t.map(G));
		});
	});
}
function _n(e, t = 0) {
	return cn(16 | t, e);
}
function vn(e) {
	return cn(32 | C, e);
}
function yn(e) {
	var t = e.teardown;
	if (t !== null) {
		let n = jn, r = U;
		Mn(!0), Pn(null);
		try {
			t.call(null);
		} catch (t) {
			an(t, e.parent);
		} finally {
			Mn(n), Pn(r);
		}
	}
}
function bn(e, t = !1) {
	var n = e.first;
	for (e.first = e.last = null; n !== null;) {
		let e = n.ac;
		e !== null && Xe(() => {
			e.abort(le);
		});
		var r = n.next;
		n.f & 64 ? n.parent = null : Sn(n, t), n = r;
	}
}
function xn(e) {
	for (var t = e.first; t !== null;) {
		var n = t.next;
		t.f & 32 || Sn(t), t = n;
	}
}
function Sn(e, t = !0) {
	var n = !1;
	(t || e.f & 262144) && e.nodes !== null && e.nodes.end !== null && (Cn(e.nodes.start, e.nodes.end), n = !0), e.f |= x, bn(e, t && !n), Qn(e, 0);
	var r = e.nodes && e.nodes.t;
	if (r !== null) for (let e of r) e.stop();
	yn(e), e.f ^= x, e.f |= y;
	var i = e.parent;
	i !== null && i.first !== null && wn(e), e.next = e.prev = e.teardown = e.ctx = e.deps = e.fn = e.nodes = e.ac = e.b = null;
}
function Cn(e, t) {
	for (; e !== null;) {
		var n = e === t ? null : Zt(e);
		e.remove(), e = n;
	}
}
function wn(e) {
	var t = e.parent, n = e.prev, r = e.next;
	n !== null && (n.next = r), r !== null && (r.prev = n), t !== null && (t.first === e && (t.first = r), t.last === e && (t.last = n));
}
function Tn(e, t, n = !0) {
	var r = [];
	e.f |= 256, En(e, r, !0);
	var i = () => {
		n && Sn(e), t && t();
	}, a = r.length;
	if (a > 0) {
		var o = () => --a || i();
		for (var s of r) s.out(o);
	} else i();
}
function En(e, t, n) {
	if (!(e.f & 8192)) {
		e.f ^= v;
		var r = e.nodes && e.nodes.t;
		if (r !== null) for (let e of r) (e.is_global || n) && t.push(e);
		for (var i = e.first; i !== null;) {
			var a = i.next;
			if (!(i.f & 64)) {
				var o = !!(i.f & 65536) || !!(i.f & 32) && !!(e.f & 16);
				En(i, t, o ? n : !1);
			}
			i = a;
		}
	}
}
function Dn(e) {
	e.f &= -257, On(e, !0);
}
function On(e, t) {
	if (!(e.f & 256) && e.f & 8192) {
		e.f ^= v, e.f & 1024 || (We(e, g), xt.ensure().schedule(e));
		for (var n = e.first; n !== null;) {
			var r = n.next, i = !!(n.f & 65536) || !!(n.f & 32);
			On(n, i ? t : !1), n = r;
		}
		var a = e.nodes && e.nodes.t;
		if (a !== null) for (let e of a) (e.is_global || t) && e.in();
	}
}
function kn(e, t) {
	if (e.nodes) for (var n = e.nodes.start, r = e.nodes.end; n !== null;) {
		var i = n === r ? null : Zt(n);
		t.append(n), n = i;
	}
}
// node_modules/svelte/src/internal/client/legacy.js
var An = null, jn = !1;
function Mn(e) {
	jn = e;
}
var U = null, Nn = !1;
function Pn(e) {
	U = e;
}
var W = null;
function Fn(e) {
	W = e;
}
var In = null;
function Ln(e) {
	U !== null && (U.f & 2097152 || U.f & 2) && (In ??= new Set()).add(e);
}
var Rn = null, zn = 0, Bn = null;
function Vn(e) {
	Bn = e;
}
var Hn = 1, Un = 0, Wn = Un;
function Gn(e) {
	Wn = e;
}
function Kn() {
	return ++Hn;
}
function qn(e) {
	var t = e.f;
	if (t & 2048) return !0;
	if (t & 4096) {
		for (var n = e.deps, r = n.length, i = 0; i < r; i++) {
			var a = n[i];
			if (qn(a) && ct(a), a.wv > e.wv) return !0;
		}
		t & 512 && pt === null && We(e, h);
	}
	return !1;
}
function Jn(e, t, n = !0) {
	var r = e.reactions;
	if (r !== null && !(In !== null && In.has(e))) for (var i = 0; i < r.length; i++) {
		var a = r[i];
		a.f & 2 ? Jn(a, t, !1) : t === a && (n ? We(a, g) : a.f & 1024 && We(a, _), Et(a));
	}
}
function Yn(e) {
	var t = Rn, n = zn, r = Bn, i = U, a = In, o = Ne, s = Nn, c = Wn, l = e.f;
	Rn = null, zn = 0, Bn = null, U = l & 96 ? null : e, In = null, Pe(e.ctx), Nn = !1, Wn = ++Un, e.ac !== null && (Xe(() => {
		e.ac.abort(le);
	}), e.ac = null);
	try {
		e.f |= T;
		var u = e.fn, d = u();
		e.f |= b;
		var f = Xn(e);
		if (Re() && Bn !== null && !Nn && f !== null && !(e.f & 6146)) for (var p = 0; p < Bn.length; p++) Jn(Bn[p], e);
		if (i !== null && i !== e) {
			if (Un++, i.deps !== null) for (let e = 0; e < n; e += 1) i.deps[e].rv = Un;
			if (t !== null) for (let e of t) e.rv = Un;
			Bn !== null && (r === null ? r = Bn : r.push(...Bn));
		}
		return e.f & 8388608 && (e.f ^= D), d;
	} catch (t) {
		return Xn(e), rn(t);
	} finally {
		e.f ^= T, Rn = t, zn = n, Bn = r, U = i, In = a, Pe(o), Nn = s, Wn = c;
	}
}
function Xn(e) {
	var t = e.deps, n = I?.is_fork;
	if (Rn !== null) {
		var r;
		if (n || Qn(e, zn), t !== null && zn > 0) for (t.length = zn + Rn.length, r = 0; r < Rn.length; r++) t[zn + r] = Rn[r];
		else e.deps = t = Rn;
		if (ln() && e.f & 512) for (r = zn; r < t.length; r++) (t[r].reactions ??= []).push(e);
	} else !n && t !== null && zn < t.length && (Qn(e, zn), t.length = zn);
	return t;
}
function Zn(e, r) {
	let i = r.reactions;
	if (i !== null) {
		var a = t.call(i, e);
		if (a !== -1) {
			var o = i.length - 1;
			o === 0 ? i = r.reactions = null : (i[a] = i[o], i.pop());
		}
	}
	if (i === null && r.f & 2 && (Rn === null || !n.call(Rn, r))) {
		var s = r;
		s.f & 512 && (s.f ^= 512), s.v !== k && Ge(s), s.ac !== null && Xe(() => {
			s.ac.abort(le), s.ac = null, We(s, g);
		}), lt(s), Qn(s, 0);
	}
}
function Qn(e, t) {
	var n = e.deps;
	if (n !== null) for (var r = t; r < n.length; r++) Zn(e, n[r]);
}
function $n(e) {
	var t = e.f;
	if (!(t & 16384)) {
		We(e, h);
		var n = W;
		W = e;
		try {
			t & 16777232 ? xn(e) : bn(e), yn(e);
			var r = Yn(e);
			e.teardown = typeof r == "function" ? r : null, e.wv = Hn;
		} finally {
			W = n;
		}
	}
}
async function er() {
	await Promise.resolve(), St();
}
function G(e) {
	var t = !!(e.f & 2);
	if (An?.add(e), U !== null && !Nn && !(W !== null && W.f & 16384) && (In === null || !In.has(e))) {
		var r = U.deps;
		if (U.f & 2097152) e.rv < Un && (e.rv = Un, Rn === null && r !== null && r[zn] === e ? zn++ : Rn === null ? Rn = [e] : Rn.push(e));
		else {
			U.deps ??= [], n.call(U.deps, e) || U.deps.push(e);
			var i = e.reactions;
			i === null ? e.reactions = [U] : n.call(i, U) || i.push(U);
		}
	}
	if (jn && At.has(e)) return At.get(e);
	if (t) {
		var a = e;
		if (jn) {
			var o = a.v;
			return (!(a.f & 1024) && a.reactions !== null || nr(a)) && (o = st(a)), At.set(a, o), o;
		}
		var s = !(a.f & 512) && !Nn && U !== null && !!(U.f & 512), c = (a.f & b) === 0;
		qn(a) && (s && (a.f |= 512), ct(a)), s && !c && (ut(a), tr(a));
	}
	if (pt?.has(e)) return pt.get(e);
	if (e.f & 8388608) throw e.v;
	return e.v;
}
function tr(e) {
	if (e.f |= 512, e.deps !== null) for (let r of e.deps) {
		var t = r.reactions;
		t === null ? r.reactions = [e] : n.call(t, e) || t.push(e), r.f & 2 && !(r.f & 512) && (ut(r), tr(r));
	}
}
function nr(e) {
	if (e.v === k) return !0;
	if (e.deps === null) return !1;
	for (let t of e.deps) if (At.has(t) || t.f & 2 && nr(t)) return !0;
	return !1;
}
function rr(e) {
	var t = Nn;
	try {
		return Nn = !0, e();
	} finally {
		Nn = t;
	}
}
[..."allowfullscreen.async.autofocus.autoplay.checked.controls.default.disabled.formnovalidate.indeterminate.inert.ismap.loop.multiple.muted.nomodule.novalidate.open.playsinline.readonly.required.reversed.seamless.selected.webkitdirectory.defer.disablepictureinpicture.disableremoteplayback".split(".")];
var ir = ["touchstart", "touchmove"];
function ar(e) {
	return ir.includes(e);
}
// node_modules/svelte/src/internal/client/dom/elements/events.js
var or = Symbol("events"), sr = new Set(), cr = new Set();
function lr(e) {
	if (!A) return;
	e.removeAttribute("onload"), e.removeAttribute("onerror");
	let t = e.__e;
	t !== void 0 && (e.__e = void 0, queueMicrotask(() => {
		e.isConnected && e.dispatchEvent(t);
	}));
}
function ur(e, t, n, r = {}) {
	function i(e) {
		if (r.capture || gr.call(t, e), !e.cancelBubble) return Xe(() => n?.call(this, e));
	}
	return e.startsWith("pointer") || e.startsWith("touch") || e === "wheel" ? (i.__removed = !1, Ve(() => {
		i.__removed || t.addEventListener(e, i, r);
	})) : t.addEventListener(e, i, r), i;
}
function dr(e, t, n, r, i) {
	var a = {
		capture: r,
		passive: i
	}, o = ur(e, t, n, a);
	(t === document.body || t === window || t === document || t instanceof HTMLMediaElement) && un(() => {
		o.__removed = !0, t.removeEventListener(e, o, a);
	});
}
function fr(e, t, n) {
	(t[or] ??= {})[e] = n;
}
function pr(e) {
	for (var t = 0; t < e.length; t++) sr.add(e[t]);
	for (var n of cr) n(e);
}
var mr = null, hr = !1;
function gr(e) {
	var t = this, n = t.ownerDocument, r = e.type, a = e.composedPath?.() || [], o = a[0] || e.target;
	mr = e, hr || (hr = !0, setTimeout(() => {
		hr = !1, mr = null;
	}));
	var s = 0, c = mr === e && e[or];
	if (c) {
		var l = a.indexOf(c);
		if (l !== -1 && (t === document || t === window)) {
			e[or] = t;
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
		var d = U, f = W;
		Pn(null), Fn(null);
		try {
			for (var p, m = []; o !== null && o !== t;) {
				try {
					var h = o[or]?.[r];
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
			e[or] = t, delete e.currentTarget, Pn(d), Fn(f);
		}
	}
}
// node_modules/svelte/src/internal/client/dom/reconciler.js
var _r = globalThis?.window?.trustedTypes && globalThis.window.trustedTypes.createPolicy("svelte-trusted-html", { createHTML: (e) => e });
function vr(e) {
	return _r?.createHTML(e) ?? e;
}
function yr(e) {
	var t = tn("template");
	return t.innerHTML = vr(e.replaceAll("<!>", "<!---->")), t.content;
}
// node_modules/svelte/src/internal/client/dom/template.js
function br(e, t) {
	var n = W;
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
		if (A) return br(j, null), j;
		i === void 0 && (i = yr(a ? e : "<!>" + e), n || (i = Xt(i)));
		var t = r || Gt ? document.importNode(i, !0) : i.cloneNode(!0);
		if (n) {
			var o = Xt(t), s = t.lastChild;
			br(o, s);
		} else br(t, t);
		return t;
	};
}
function xr(e, t, n = "svg") {
	var r = !e.startsWith("<!>"), i = !!(t & 1), a = `<${n}>${r ? e : "<!>" + e}</${n}>`, o;
	return () => {
		if (A) return br(j, null), j;
		if (!o) {
			var e = Xt(yr(a));
			if (i) for (o = document.createDocumentFragment(); Xt(e);) o.appendChild(Xt(e));
			else o = Xt(e);
		}
		var t = o.cloneNode(!0);
		if (i) {
			var n = Xt(t), r = t.lastChild;
			br(n, r);
		} else br(t, t);
		return t;
	};
}
function Sr(e, t) {
	return xr(e, t, "svg");
}
function Cr(e = "") {
	if (!A) {
		var t = Yt(e + "");
		return br(t, t), t;
	}
	var n = j;
	return n.nodeType === 3 ? nn(n) : (n.before(n = Yt()), _e(n)), br(n, n), n;
}
function wr() {
	if (A) return br(j, null), j;
	var e = document.createDocumentFragment(), t = document.createComment(""), n = Yt();
	return e.append(t, n), br(t, n), e;
}
function q(e, t) {
	if (A) {
		var n = W;
		n.f & 32768 && n.nodes.end !== null || (n.nodes.end = j), ve();
	} else e !== null && e.before(t);
}
// node_modules/svelte/src/reactivity/create-subscriber.js
function Tr(e) {
	let t = 0, n = Mt(0), r;
	return () => {
		ln() && (G(n), gn(() => (t === 0 && (r = rr(() => e(() => zt(n)))), t += 1, () => {
			Ve(() => {
				--t, t === 0 && (r?.(), r = void 0, zt(n));
			});
		})));
	};
}
// node_modules/svelte/src/internal/client/dom/blocks/boundary.js
var Er = S | C;
function Dr(e, t, n, r) {
	new Or(e, t, n, r);
}
var Or = class {
	parent;
	is_pending = !1;
	transform_error;
	#e;
	#t = A ? j : null;
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
	#m = Tr(() => (this.#p = Mt(this.#l), () => {
		this.#p = null;
	}));
	constructor(e, t, n, r) {
		this.#e = e, this.#n = t, this.#r = (e) => {
			var t = W;
			t.b = this, t.f |= 128, n(e);
		}, this.parent = W.b, this.transform_error = r ?? this.parent?.transform_error ?? ((e) => e), this.#i = _n(() => {
			if (A) {
				let e = xe(this.#t);
				ve();
				let t = e === "[!";
				if (e.startsWith("[?")) {
					let t = JSON.parse(e.slice(2));
					this.#g(t);
				} else t ? this.#y() : this.#h();
			} else this.#b();
		}, Er), A && (this.#e = j);
	}
	#h() {
		try {
			this.#a = vn(() => this.#r(this.#e));
		} catch (e) {
			this.error(e);
		}
	}
	#g(e) {
		let t = this.#n.failed, { reset: n, invoke_onerror: r } = this.#_(e);
		Ve(r), t && (this.#s = vn(() => {
			t(this.#e, () => e, () => n);
		}));
	}
	#_(e) {
		var t = !1, n = !1;
		let r = () => {
			this.#v() || (t ? he() : (t = !0, n && Me(), this.#s !== null && Tn(this.#s, () => {
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
					an(e, this.#i && this.#i.parent);
				}
			}
		};
	}
	#v() {
		return (this.#i.f & (y | x)) !== 0;
	}
	#y() {
		let e = this.#n.pending;
		e && (this.is_pending = !0, this.#o = vn(() => e(this.#e)), Ve(() => {
			if (!this.#v()) {
				var e = this.#c = document.createDocumentFragment(), t = Yt(), n = !1;
				e.append(t), this.#a = this.#S(() => {
					try {
						return vn(() => this.#r(t));
					} catch (e) {
						try {
							this.error(e), n = !0;
						} catch (e) {
							an(e, this.#i.parent);
						}
						return null;
					}
				}), this.#a === null ? (this.#c = null, n && this.#x(I)) : this.#u === 0 && (this.#e.before(e), this.#c = null, Tn(this.#o, () => {
					this.#o = null;
				}), this.#x(I));
			}
		}));
	}
	#b() {
		try {
			if (this.is_pending = this.has_pending_snippet(), this.#u = 0, this.#l = 0, this.#a = vn(() => {
				this.#r(this.#e);
			}), this.#u > 0) {
				var e = this.#c = document.createDocumentFragment();
				kn(this.#a, e);
				let t = this.#n.pending;
				this.#o = vn(() => t(this.#e));
			} else this.#x(I);
		} catch (e) {
			this.error(e);
		}
	}
	#x(e) {
		this.is_pending = !1, e.transfer_reactions(this.#f);
	}
	defer_effect(e) {
		Ke(e, this.#f);
	}
	is_rendered() {
		return !this.is_pending && (!this.parent || this.parent.is_rendered());
	}
	has_pending_snippet() {
		return !!this.#n.pending;
	}
	#S(e) {
		var t = W, n = U, r = Ne;
		Fn(this.#i), Pn(this.#i), Pe(this.#i.ctx);
		try {
			return xt.ensure(), e();
		} finally {
			Fn(t), Pn(n), Pe(r);
		}
	}
	#C(e, t) {
		this.has_pending_snippet() ? (this.#u += e, this.#u === 0 && (this.#x(t), this.#o && Tn(this.#o, () => {
			this.#o = null;
		}), this.#c &&= (this.#e.before(this.#c), null))) : this.parent && this.parent.#C(e, t);
	}
	update_pending_count(e, t) {
		this.#C(e, t), this.#l += e, !this.#p || this.#d || (this.#d = !0, Ve(() => {
			this.#d = !1, this.#p && It(this.#p, this.#l);
		}));
	}
	get_effect_pending() {
		return this.#m(), G(this.#p);
	}
	error(e) {
		if (e === O || !this.#n.onerror && !this.#n.failed) throw e;
		I?.is_fork ? (this.#a && I.skip_effect(this.#a), this.#o && I.skip_effect(this.#o), this.#s && I.skip_effect(this.#s), I.oncommit(() => {
			this.#v() || this.#w(e);
		})) : this.#w(e);
	}
	#w(e) {
		this.#a &&= (Sn(this.#a), null), this.#o &&= (Sn(this.#o), null), this.#s &&= (Sn(this.#s), null), A && (_e(this.#t), ye(), _e(be()));
		let t = this.#n.failed, n = (e) => {
			if (this.#v()) return;
			let { reset: n, invoke_onerror: r } = this.#_(e);
			r(), t && !this.#v() && (this.#s = this.#S(() => {
				try {
					return vn(() => {
						var r = W;
						r.b = this, r.f |= 128, t(this.#e, () => e, () => n);
					});
				} catch (e) {
					return an(e, this.#i.parent), null;
				}
			}));
		};
		Ve(() => {
			if (!this.#v()) {
				var t;
				try {
					t = this.transform_error(e);
				} catch (e) {
					an(e, this.#i && this.#i.parent);
					return;
				}
				typeof t == "object" && t && typeof t.then == "function" ? t.then(n, (e) => an(e, this.#i && this.#i.parent)) : n(t);
			}
		});
	}
};
function J(e, t) {
	var n = t == null ? "" : typeof t == "object" ? `${t}` : t;
	n !== (e[se] ??= e.nodeValue) && (e[se] = n, e.nodeValue = `${n}`);
}
function kr(e, t) {
	return jr(e, t);
}
var Ar = new Map();
function jr(e, { target: t, anchor: n, props: i = {}, events: a, context: o, intro: s = !0, transformError: c }) {
	Jt();
	var l = void 0, u = pn(() => {
		var s = n ?? t.appendChild(Yt());
		Dr(s, { pending: () => {} }, (t) => {
			Fe({});
			var n = Ne;
			if (o && (n.c = o), a && (i.$$events = a), A && br(t, null), l = e(t, i) || Le(), A && (W.nodes.end = j, j === null || j.nodeType !== 8 || j.data !== "]")) throw pe(), O;
			Ie();
		}, c);
		var u = new Set(), d = (e) => {
			for (var n = 0; n < e.length; n++) {
				var r = e[n];
				if (!u.has(r)) {
					u.add(r);
					var i = ar(r);
					for (let e of [t, document]) {
						var a = Ar.get(e);
						a === void 0 && (a = new Map(), Ar.set(e, a));
						var o = a.get(r);
						o === void 0 ? (e.addEventListener(r, gr, { passive: i }), a.set(r, 1)) : a.set(r, o + 1);
					}
				}
			}
		};
		return d(r(sr)), cr.add(d), () => {
			for (var e of u) for (let n of [t, document]) {
				var r = Ar.get(n), i = r.get(e);
				--i == 0 ? (n.removeEventListener(e, gr), r.delete(e), r.size === 0 && Ar.delete(n)) : r.set(e, i);
			}
			cr.delete(d), s !== n && s.parentNode?.removeChild(s);
		};
	});
	return Mr.set(l, u), l;
}
var Mr = new WeakMap(), Nr = class {
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
			if (n) Dn(n), this.#r.delete(t);
			else {
				var r = this.#n.get(t);
				r && (Dn(r.effect), this.#t.set(t, r.effect), this.#n.delete(t), r.fragment.lastChild.remove(), this.anchor.before(r.fragment), n = r.effect);
			}
			for (let [t, n] of this.#e) {
				if (this.#e.delete(t), t === e) break;
				let r = this.#n.get(n);
				r && (Sn(r.effect), this.#n.delete(n));
			}
			for (let [e, r] of this.#t) {
				if (e === t || this.#r.has(e)) continue;
				let i = () => {
					if (Array.from(this.#e.values()).includes(e)) {
						var t = document.createDocumentFragment();
						kn(r, t), t.append(Yt()), this.#n.set(e, {
							effect: r,
							fragment: t
						});
					} else Sn(r);
					this.#r.delete(e), this.#t.delete(e);
				};
				this.#i || !n ? (this.#r.add(e), Tn(r, i, !1)) : i();
			}
		}
	};
	#o = (e) => {
		this.#e.delete(e);
		let t = Array.from(this.#e.values());
		for (let [e, n] of this.#n) t.includes(e) || (Sn(n.effect), this.#n.delete(e));
	};
	ensure(e, t) {
		var n = I, r = en();
		if (t && !this.#t.has(e) && !this.#n.has(e)) {
			if (r) {
				var i = document.createDocumentFragment(), a = Yt();
				i.append(a), this.#n.set(e, {
					effect: vn(() => t(a)),
					fragment: i
				});
			} else this.#t.set(e, vn(() => t(this.anchor)));
		}
		if (this.#e.set(n, e), r) {
			for (let [t, r] of this.#t) t === e ? n.unskip_effect(r) : n.skip_effect(r);
			for (let [t, r] of this.#n) t === e ? n.unskip_effect(r.effect) : n.skip_effect(r.effect);
			n.oncommit(this.#a), n.ondiscard(this.#o);
		} else A && (this.anchor = j), this.#a(n);
	}
};
// node_modules/svelte/src/internal/client/dom/blocks/if.js
function Y(e, t, n = !1) {
	var r;
	A && (r = j, ve());
	var i = new Nr(e), a = n ? S : 0;
	function o(e, t) {
		if (A) {
			var n = xe(r);
			if (e !== parseInt(n.substring(1))) {
				var a = be();
				_e(a), i.anchor = a, ge(!1), i.ensure(e, t), ge(!0);
				return;
			}
		}
		i.ensure(e, t);
	}
	_n(() => {
		var e = !1;
		t((t, n = 0) => {
			e = !0, o(n, t);
		}), e || o(-1, null);
	}, a);
}
// node_modules/svelte/src/internal/client/dom/blocks/key.js
var Pr = Symbol("NaN");
function Fr(e, t, n) {
	A && ve();
	var r = new Nr(e), i = !Re();
	_n(() => {
		var e = t();
		e !== e && (e = Pr), i && typeof e == "object" && e && (e = {}), r.ensure(e, n);
	});
}
// node_modules/svelte/src/internal/client/dom/blocks/each.js
function Ir(e, t) {
	return t;
}
function Lr(e, t, n) {
	for (var i = [], a = t.length, o, s = t.length, c = 0; c < a; c++) {
		let n = t[c];
		Tn(n, () => {
			if (o) {
				if (o.pending.delete(n), o.done.add(n), o.pending.size === 0) {
					var t = e.outrogroups;
					Rr(e, r(o.done)), t.delete(o), t.size === 0 && (e.outrogroups = null);
				}
			} else --s;
		}, !1);
	}
	if (s === 0) {
		var l = i.length === 0 && n !== null && e.pending.size === 0;
		if (l) {
			var u = n, d = u.parentNode;
			$t(d), d.append(u), e.items.clear();
		}
		Rr(e, t, !l);
	} else o = {
		pending: new Set(t),
		done: new Set()
	}, (e.outrogroups ??= new Set()).add(o);
}
function Rr(e, t, n = !0) {
	var r;
	if (e.pending.size > 0) {
		r = new Set();
		for (let t of e.pending.values()) for (let n of t) r.add(e.items.get(n).e);
	}
	for (var i = 0; i < t.length; i++) {
		var a = t[i];
		r?.has(a) ? (a.f |= ee, kn(a, document.createDocumentFragment())) : Sn(t[i], n);
	}
}
var zr;
function Br(t, n, i, a, o, s = null) {
	var c = t, l = new Map();
	if (n & 4) {
		var u = t;
		c = A ? _e(Xt(u)) : u.appendChild(Yt());
	}
	A && ve();
	var d = null, f = at(() => {
		var t = i();
		return e(t) ? t : t == null ? [] : r(t);
	}), p = new Map(), m = !0;
	function h(e) {
		if (!(_.effect.f & 16384)) {
			_.pending.delete(e);
			var t = G(f);
			_.fallback = d, Hr(_, t, c, n, a), d !== null && (t.length === 0 ? d.f & 33554432 ? (d.f ^= ee, Wr(d, null, c)) : Dn(d) : Tn(d, () => {
				d = null;
			}));
		}
	}
	function g(e) {
		_.pending.delete(e);
	}
	var _ = {
		effect: _n(() => {
			var e = G(f), t = e.length;
			let r = !1;
			A && xe(c) === "[!" != (t === 0) && (c = be(), _e(c), ge(!1), r = !0);
			for (var u = new Set(), _ = I, v = en(), y = 0; y < t; y += 1) {
				A && j.nodeType === 8 && j.data === "]" && (c = j, r = !0, ge(!1));
				var b = e[y], x = a(b, y), S = m ? null : l.get(x);
				S ? (S.v && It(S.v, b), S.i && It(S.i, y), v && _.unskip_effect(S.e)) : (S = Ur(l, m ? c : zr ??= Yt(), b, x, y, o, n, i), m || (S.e.f |= ee), l.set(x, S)), u.add(x);
			}
			if (t === 0 && s && !d && (m ? d = vn(() => s(c)) : (d = vn(() => s(zr ??= Yt())), d.f |= ee)), t > u.size && Ee("", "", ""), A && t > 0 && _e(be()), !m) {
				if (p.set(_, u), v) {
					for (let [e, t] of l) u.has(e) || _.skip_effect(t.e);
					_.oncommit(h), _.ondiscard(g);
				} else h(_);
			}
			r && ge(!0), G(f);
		}),
		flags: n,
		items: l,
		pending: p,
		outrogroups: null,
		fallback: d
	};
	m = !1, A && (c = j);
}
function Vr(e) {
	for (; e !== null && !(e.f & 32);) e = e.next;
	return e;
}
function Hr(e, t, n, i, a) {
	var o = !!(i & 8), s = t.length, c = e.items, l = Vr(e.effect.first), u, d = null, f, p = [], m = [], h, g, _, v;
	if (o) for (v = 0; v < s; v += 1) h = t[v], g = a(h, v), _ = c.get(g).e, _.f & 33554432 || (_.nodes?.a?.measure(), (f ??= new Set()).add(_));
	for (v = 0; v < s; v += 1) {
		if (h = t[v], g = a(h, v), _ = c.get(g).e, e.outrogroups !== null) for (let t of e.outrogroups) t.pending.delete(_), t.done.delete(_);
		if (_.f & 8192 && (Dn(_), o && (_.nodes?.a?.unfix(), (f ??= new Set()).delete(_))), _.f & 33554432) {
			if (_.f ^= ee, _ === l) Wr(_, null, n);
			else {
				var y = d ? d.next : l;
				_ === e.effect.last && (e.effect.last = _.prev), _.prev && (_.prev.next = _.next), _.next && (_.next.prev = _.prev), Gr(e, d, _), Gr(e, _, y), Wr(_, y, n), d = _, p = [], m = [], l = Vr(d.next);
				continue;
			}
		}
		if (_ !== l) {
			if (u !== void 0 && u.has(_)) {
				if (p.length < m.length) {
					var b = m[0], x;
					d = b.prev;
					var S = p[0], C = p[p.length - 1];
					for (x = 0; x < p.length; x += 1) Wr(p[x], b, n);
					for (x = 0; x < m.length; x += 1) u.delete(m[x]);
					Gr(e, S.prev, C.next), Gr(e, d, S), Gr(e, C, b), l = b, d = C, --v, p = [], m = [];
				} else u.delete(_), Wr(_, l, n), Gr(e, _.prev, _.next), Gr(e, _, d === null ? e.effect.first : d.next), Gr(e, d, _), d = _;
				continue;
			}
			for (p = [], m = []; l !== null && l !== _;) (u ??= new Set()).add(l), m.push(l), l = Vr(l.next);
			if (l === null) continue;
		}
		_.f & 33554432 || p.push(_), d = _, l = Vr(_.next);
	}
	if (e.outrogroups !== null) {
		for (let t of e.outrogroups) t.pending.size === 0 && (Rr(e, r(t.done)), e.outrogroups?.delete(t));
		e.outrogroups.size === 0 && (e.outrogroups = null);
	}
	if (l !== null || u !== void 0) {
		var w = [];
		if (u !== void 0) for (_ of u) _.f & 8192 || w.push(_);
		for (; l !== null;) !(l.f & 8192) && l !== e.fallback && w.push(l), l = Vr(l.next);
		var T = w.length;
		if (T > 0) {
			var E = i & 4 && s === 0 ? n : null;
			if (o) {
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.measure();
				for (v = 0; v < T; v += 1) w[v].nodes?.a?.fix();
			}
			Lr(e, w, E);
		}
	}
	o && Ve(() => {
		if (f !== void 0) for (_ of f) _.nodes?.a?.apply();
	});
}
function Ur(e, t, n, r, i, a, o, s) {
	var c = o & 1 ? o & 16 ? Mt(n) : Nt(n, !1, !1) : null, l = o & 2 ? Mt(i) : null;
	return {
		v: c,
		i: l,
		e: vn(() => (a(t, c ?? n, l ?? i, s), () => {
			e.delete(r);
		}))
	};
}
function Wr(e, t, n) {
	if (e.nodes) for (var r = e.nodes.start, i = e.nodes.end, a = t && !(t.f & 33554432) ? t.nodes.start : n; r !== null;) {
		var o = Zt(r);
		if (a.before(r), r === i) return;
		r = o;
	}
}
function Gr(e, t, n) {
	t === null ? e.effect.first = n : t.next = n, n === null ? e.effect.last = t : n.prev = t;
}
// node_modules/svelte/src/internal/shared/attributes.js
var Kr = [..." 	\n\r\f\xA0\v﻿"];
function qr(e, t, n) {
	var r = e == null ? "" : "" + e;
	if (t && (r = r ? r + " " + t : t), n) {
		for (var i of Object.keys(n)) if (n[i]) r = r ? r + " " + i : i;
		else if (r.length) for (var a = i.length, o = 0; (o = r.indexOf(i, o)) >= 0;) {
			var s = o + a;
			(o === 0 || Kr.includes(r[o - 1])) && (s === r.length || Kr.includes(r[s])) ? r = (o === 0 ? "" : r.substring(0, o)) + r.substring(s + 1) : o = s;
		}
	}
	return r === "" ? null : r;
}
function Jr(e, t = !1) {
	var n = t ? " !important;" : ";", r = "";
	for (var i of Object.keys(e)) {
		var a = e[i];
		a != null && a !== "" && (r += " " + i + ": " + a + n);
	}
	return r;
}
function Yr(e) {
	return e[0] !== "-" || e[1] !== "-" ? e.toLowerCase() : e;
}
function Xr(e, t) {
	if (t) {
		var n = "", r, i;
		if (Array.isArray(t) ? (r = t[0], i = t[1]) : r = t, e) {
			e = String(e).replaceAll(/\/\*.*?\*\//g, "").trim();
			var a = !1, o = 0, s = !1, c = [];
			r && c.push(...Object.keys(r).map(Yr)), i && c.push(...Object.keys(i).map(Yr));
			var l = 0, u = -1;
			let t = e.length;
			for (var d = 0; d < t; d++) {
				var f = e[d];
				if (s ? f === "/" && e[d - 1] === "*" && (s = !1) : a ? a === f && (a = !1) : f === "/" && e[d + 1] === "*" ? s = !0 : f === "\"" || f === "'" ? a = f : f === "(" ? o++ : f === ")" && o--, !s && a === !1 && o === 0) {
					if (f === ":" && u === -1) u = d;
					else if (f === ";" || d === t - 1) {
						if (u !== -1) {
							var p = Yr(e.substring(l, u).trim());
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
		return r && (n += Jr(r)), i && (n += Jr(i, !0)), n = n.trim(), n === "" ? null : n;
	}
	return e == null ? null : String(e);
}
// node_modules/svelte/src/internal/client/dom/elements/class.js
function Zr(e, t, n, r, i, a) {
	var o = e[ae];
	if (A || o !== n || o === void 0) {
		var s = qr(n, r, a);
		A && s === e.getAttribute("class") || (s == null ? e.removeAttribute("class") : t ? e.className = s : e.setAttribute("class", s)), e[ae] = n;
	} else if (a && i !== a) for (var c in a) {
		var l = !!a[c];
		(i == null || l !== !!i[c]) && e.classList.toggle(c, l);
	}
	return a;
}
// node_modules/svelte/src/internal/client/dom/elements/style.js
function Qr(e, t = {}, n, r) {
	for (var i in n) {
		var a = n[i];
		t[i] !== a && (n[i] == null ? e.style.removeProperty(i) : e.style.setProperty(i, a, r));
	}
}
function $r(e, t, n, r) {
	var i = e[oe];
	if (A || i !== t) {
		var a = Xr(t, r);
		A && a === e.getAttribute("style") || (a == null ? e.removeAttribute("style") : e.style.cssText = a), e[oe] = t;
	} else r && (Array.isArray(r) ? (Qr(e, n?.[0], r[0]), Qr(e, n?.[1], r[1], "important")) : Qr(e, n, r));
	return r;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/select.js
function ei(e, t) {
	t ? e.hasAttribute("selected") || e.setAttribute("selected", "") : e.removeAttribute("selected");
}
function ti(t, n) {
	var r = t.__defaultValue, i = t.multiple, a = i ? r ?? [] : null;
	if (!i || e(a)) {
		var o = t.selectedIndex, s = n && i ? new Set(t.selectedOptions) : null;
		for (var c of t.options) {
			var l = ii(c);
			ei(c, i ? a.includes(l) : Ut(l, r));
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
function ni(t, n, r = !1) {
	if (t.multiple) {
		if (n == null) return;
		if (!e(n)) return me();
		for (var i of t.options) i.selected = n.includes(ii(i));
	} else {
		for (i of t.options) if (Ut(ii(i), n)) {
			i.selected = !0;
			return;
		}
		r && n === void 0 || (t.selectedIndex = -1);
	}
}
function ri(e) {
	var t = new MutationObserver((t) => {
		t.every(ai) || ("__defaultValue" in e && ti(e, !1), "__value" in e && ni(e, e.__value));
	});
	t.observe(e, {
		childList: !0,
		subtree: !0,
		attributes: !0,
		attributeFilter: ["value"]
	}), un(() => {
		t.disconnect();
	});
}
function ii(e) {
	return "__value" in e ? e.__value : e.value;
}
function ai(e) {
	if (e.target.closest("selectedcontent") !== null) return !0;
	if (e.type === "childList") {
		var t = [...e.addedNodes, ...e.removedNodes];
		return t.length > 0 && t.every((e) => e.nodeName === "SELECTEDCONTENT");
	}
	return !1;
}
// node_modules/svelte/src/internal/client/dom/elements/attributes.js
var oi = Symbol("is custom element"), si = Symbol("is html"), ci = ue ? "link" : "LINK", li = ue ? "progress" : "PROGRESS";
function ui(e) {
	if (A) {
		var t = !1, n = () => {
			if (!t) {
				if (t = !0, e.hasAttribute("value")) {
					var n = e.value;
					X(e, "value", null), e.value = n;
				}
				if (e.hasAttribute("checked")) {
					var r = e.checked;
					X(e, "checked", null), e.checked = r;
				}
			}
		};
		e[ce] = n, Ve(n), Ye();
	}
}
function di(e, t) {
	var n = pi(e);
	n.value !== (n.value = t ?? void 0) && (e.value !== t || t === 0 && e.nodeName === li) && (e.value = t ?? "");
}
function fi(e, t) {
	var n = pi(e);
	n.checked !== (n.checked = t ?? void 0) && (e.checked = t);
}
function X(e, t, n, r) {
	var i = pi(e);
	if (!(A && (i[t] = e.getAttribute(t), t === "src" || t === "srcset" || t === "href" && e.nodeName === ci))) {
		var a = i[t];
		a !== (i[t] = n) && (t === "loading" && (e[re] = n), n == null ? e.removeAttribute(t) : typeof n != "string" && hi(e).has(t) ? e[t] = n : (!A || typeof n != "number" && typeof n != "boolean" || a !== String(n)) && e.setAttribute(t, n));
	}
}
function pi(e) {
	return e[ie] ??= {
		[oi]: e.nodeName.includes("-"),
		[si]: e.namespaceURI === de
	};
}
var mi = new Map();
function hi(e) {
	var t = e.getAttribute("is") || e.nodeName, n = mi.get(t);
	if (n) return n;
	mi.set(t, n = new Set());
	for (var r, i = e, a = Element.prototype; a !== i;) {
		for (var s in r = o(i), r) r[s].set && s !== "innerHTML" && s !== "textContent" && s !== "innerText" && n.add(s);
		i = l(i);
	}
	return n;
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/input.js
function gi(e, t, n = t) {
	var r = new WeakSet();
	Ze(e, "input", async (i) => {
		var a = i ? e.defaultValue : e.value;
		if (a = _i(e) ? vi(a) : a, n(a), I !== null && r.add(I), await er(), a !== (a = t())) {
			var o = e.selectionStart, s = e.selectionEnd, c = e.value.length;
			if (e.value = a ?? "", s !== null) {
				var l = e.value.length;
				o === s && s === c && l > c ? (e.selectionStart = l, e.selectionEnd = l) : (e.selectionStart = o, e.selectionEnd = Math.min(s, l));
			}
		}
	}), (A && e.defaultValue !== e.value || rr(t) == null && e.value) && (n(_i(e) ? vi(e.value) : e.value), I !== null && r.add(I)), gn(() => {
		var n = t();
		if (e === document.activeElement) {
			var i = I;
			if (r.has(i)) return;
		}
		_i(e) && n === vi(e.value) || (e.type !== "date" || n || e.value) && n !== e.value && (e.value = n ?? "");
	});
}
function _i(e) {
	var t = e.type;
	return t === "number" || t === "range";
}
function vi(e) {
	return e === "" ? null : +e;
}
var yi = new class e {
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
function bi(e, t, n) {
	var r = yi.observe(e, () => n(e[t]));
	mn(() => (rr(() => n(e[t])), r));
}
// node_modules/svelte/src/internal/client/dom/elements/bindings/this.js
function xi(e, t) {
	return e === t || e?.[te] === t;
}
function Si(e = Le(), t, n, r) {
	var i = Ne.r, a = W;
	return mn(() => {
		var o, s;
		return gn(() => {
			o = s, s = r?.() || [], rr(() => {
				xi(n(...s), e) || (t(e, ...s), o && xi(n(...o), e) && t(null, ...o));
			});
		}), () => {
			let r = a;
			for (; r !== i && r.parent !== null && r.parent.f & 33554432;) r = r.parent;
			let o = () => {
				s && xi(n(...s), e) && t(null, ...s);
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
var Ci = Uint8Array.of(65, 82, 82, 79, 87, 49), wi = {
	V1: 0,
	V2: 1,
	V3: 2,
	V4: 3,
	V5: 4
}, Ti = {
	NONE: 0,
	Schema: 1,
	DictionaryBatch: 2,
	RecordBatch: 3,
	Tensor: 4,
	SparseTensor: 5
}, Z = {
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
}, Ei = {
	HALF: 0,
	SINGLE: 1,
	DOUBLE: 2
}, Di = {
	DAY: 0,
	MILLISECOND: 1
}, Oi = {
	SECOND: 0,
	MILLISECOND: 1,
	MICROSECOND: 2,
	NANOSECOND: 3
}, ki = {
	YEAR_MONTH: 0,
	DAY_TIME: 1,
	MONTH_DAY_NANO: 2
}, Ai = {
	Sparse: 0,
	Dense: 1
}, ji = {
	LZ4_FRAME: 0,
	ZSTD: 1
}, Mi = { BUFFER: 0 }, Ni = Uint8Array, Pi = Uint16Array, Fi = Uint32Array, Ii = BigUint64Array, Li = Int8Array, Ri = Int16Array, zi = Int32Array, Bi = BigInt64Array, Vi = Float32Array, Hi = Float64Array;
function Ui(e) {
	return Object.prototype.toString.call(e);
}
function Wi(e) {
	return Ui(e) === "[object ArrayBuffer]" || Ui(e) === "[object SharedArrayBuffer]";
}
function Gi(e) {
	return Ui(e) === "[object Uint8Array]";
}
function Ki(e, t) {
	let n = Math.log2(e) - 3;
	return (t ? [
		Li,
		Ri,
		zi,
		Bi
	] : [
		Ni,
		Pi,
		Fi,
		Ii
	])[n];
}
function qi(e, t) {
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
function Ji(e, t, n) {
	if (t(e)) return e;
	throw Error(n(e));
}
function Yi(e, t, n) {
	return t = Array.isArray(t) ? t : Object.values(t), Ji(e, (e) => t.includes(e), n ?? (() => `${e} must be one of ${t}`));
}
function Xi(e, t) {
	for (let [n, r] of Object.entries(e)) if (r === t) return n;
	return "<Unknown>";
}
// node_modules/@uwdata/flechette/src/data-types.js
var Zi = (e) => `Unsupported data type: "${Xi(Z, e)}" (id ${e})`, Qi = (e, t, n = !0, r = null) => ({
	name: e,
	type: t,
	nullable: n,
	metadata: r
});
function $i(e) {
	return Object.hasOwn(e, "name") && ea(e.type);
}
function ea(e) {
	return typeof e?.typeId == "number";
}
function ta(e, t = "", n = !0) {
	return $i(e) ? e : Qi(t, Ji(e, ea, () => "Data type expected."), n);
}
var na = (e, t, n = !1, r = -1) => ({
	typeId: Z.Dictionary,
	id: r,
	dictionary: e,
	indices: t || ia(),
	ordered: n
}), ra = (e = 32, t = !0) => ({
	typeId: Z.Int,
	bitWidth: Yi(e, [
		8,
		16,
		32,
		64
	]),
	signed: t,
	values: Ki(e, t)
}), ia = () => ra(32), aa = (e = 2) => ({
	typeId: Z.Float,
	precision: Yi(e, Ei),
	values: [
		Pi,
		Vi,
		Hi
	][e]
}), oa = () => ({
	typeId: Z.Binary,
	offsets: zi
}), sa = () => ({
	typeId: Z.Utf8,
	offsets: zi
}), ca = (e, t, n = 128) => ({
	typeId: Z.Decimal,
	precision: e,
	scale: t,
	bitWidth: Yi(n, [
		32,
		64,
		128,
		256
	]),
	values: n === 32 ? zi : Ii
}), la = (e) => ({
	typeId: Z.Date,
	unit: Yi(e, Di),
	values: e === Di.DAY ? zi : Bi
}), ua = (e = Oi.MILLISECOND) => {
	e = Yi(e, Oi);
	let t = e === Oi.SECOND || e === Oi.MILLISECOND ? 32 : 64;
	return {
		typeId: Z.Time,
		unit: e,
		bitWidth: t,
		values: t === 32 ? zi : Bi
	};
}, da = (e = Oi.MILLISECOND, t = null) => ({
	typeId: Z.Timestamp,
	unit: Yi(e, Oi),
	timezone: t,
	values: Bi
}), fa = (e = ki.MONTH_DAY_NANO) => ({
	typeId: Z.Interval,
	unit: Yi(e, ki),
	values: e === ki.MONTH_DAY_NANO ? void 0 : zi
}), pa = (e) => ({
	typeId: Z.List,
	children: [ta(e)],
	offsets: zi
}), ma = (e) => ({
	typeId: Z.Struct,
	children: Array.isArray(e) && e.length > 0 && $i(e[0]) ? e : Object.entries(e).map(([e, t]) => Qi(e, t))
}), ha = (e, t, n, r) => (n ??= t.map((e, t) => t), {
	typeId: Z.Union,
	mode: Yi(e, Ai),
	typeIds: n,
	typeMap: n.reduce((e, t, n) => (e[t] = n, e), {}),
	children: t.map((e, t) => ta(e, `_${t}`)),
	typeIdForValue: r,
	offsets: zi
}), ga = (e) => ({
	typeId: Z.FixedSizeBinary,
	stride: e
}), _a = (e, t) => ({
	typeId: Z.FixedSizeList,
	stride: t,
	children: [ta(e)]
}), va = (e, t) => ({
	typeId: Z.Map,
	keysSorted: e,
	children: [t],
	offsets: zi
}), ya = (e = Oi.MILLISECOND) => ({
	typeId: Z.Duration,
	unit: Yi(e, Oi),
	values: Bi
}), ba = () => ({
	typeId: Z.LargeBinary,
	offsets: Bi
}), xa = () => ({
	typeId: Z.LargeUtf8,
	offsets: Bi
}), Sa = (e) => ({
	typeId: Z.LargeList,
	children: [ta(e)],
	offsets: Bi
}), Ca = (e, t) => ({
	typeId: Z.RunEndEncoded,
	children: [Ji(ta(e, "run_ends"), (e) => e.type.typeId === Z.Int, () => "Run-ends must have an integer type."), ta(t, "values")]
}), wa = (e) => ({
	typeId: Z.ListView,
	children: [ta(e, "value")],
	offsets: zi
}), Ta = (e) => ({
	typeId: Z.LargeListView,
	children: [ta(e, "value")],
	offsets: Bi
}), Ea = new Hi(2).buffer;
new Bi(Ea), new Fi(Ea), new zi(Ea), new Ni(Ea);
function Da(e) {
	if (e > 2 ** 53 - 1 || e < -(2 ** 53 - 1)) throw Error(`BigInt exceeds integer number representation: ${e}`);
	return Number(e);
}
function Oa(e, t) {
	return Number(e / t) + Number(e % t) / Number(t);
}
var ka = (e) => BigInt.asUintN(64, e);
function Aa(e, t) {
	return BigInt.asIntN(64, e[t]);
}
function ja(e, t) {
	let n = t << 1, r;
	return BigInt.asIntN(64, e[n + 1]) < 0 ? (r = ka(~e[n]) | ka(~e[n + 1]) << 64n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n, r;
}
function Ma(e, t) {
	let n = t << 2, r;
	return BigInt.asIntN(64, e[n + 3]) < 0 ? (r = ka(~e[n]) | ka(~e[n + 1]) << 64n | ka(~e[n + 2]) << 128n | ka(~e[n + 3]) << 192n, r = -(r + 1n)) : r = e[n] | e[n + 1] << 64n | e[n + 2] << 128n | e[n + 3] << 192n, r;
}
// node_modules/@uwdata/flechette/src/util/strings.js
var Na = new TextDecoder("utf-8");
new TextEncoder();
function Pa(e) {
	return Na.decode(e);
}
function Fa(e, t) {
	return !!(e[t >> 3] & 1 << t % 8);
}
function Ia(e, t) {
	let n = t + Ua(e, t), r = n - Ua(e, n), i = Va(e, r);
	return (t, a, o = null) => {
		if (t < i) {
			let i = Va(e, r + t);
			if (i) return a(e, n + i);
		}
		return o;
	};
}
function La(e, t) {
	return t;
}
function Ra(e, t) {
	return !!za(e, t);
}
function za(e, t) {
	return Ba(e, t) << 24 >> 24;
}
function Ba(e, t) {
	return e[t];
}
function Va(e, t) {
	return Ha(e, t) << 16 >> 16;
}
function Ha(e, t) {
	return e[t] | e[t + 1] << 8;
}
function Ua(e, t) {
	return e[t] | e[t + 1] << 8 | e[t + 2] << 16 | e[t + 3] << 24;
}
function Wa(e, t) {
	return Ua(e, t) >>> 0;
}
function Ga(e, t) {
	return Da(BigInt.asIntN(64, BigInt(Wa(e, t)) + (BigInt(Wa(e, t + 4)) << 32n)));
}
function Ka(e, t) {
	let n = t + Ua(e, t), r = Ua(e, n);
	return n += 4, Pa(e.subarray(n, n + r));
}
function qa(e, t, n, r) {
	if (!t) return [];
	let i = t + Ua(e, t);
	return Array.from({ length: Ua(e, i) }, (t, a) => r(e, i + 4 + a * n));
}
// node_modules/@uwdata/flechette/src/util/struct.js
var Ja = Symbol("rowIndex");
function Ya(e, t) {
	class n {
		constructor(e) {
			this[Ja] = e;
		}
		toJSON() {
			return Za(e, t, this[Ja]);
		}
	}
	let r = n.prototype;
	for (let n = 0; n < e.length; ++n) {
		if (Object.hasOwn(r, e[n])) continue;
		let i = t[n];
		Object.defineProperty(r, e[n], {
			get() {
				return i.at(this[Ja]);
			},
			enumerable: !0
		});
	}
	return (e) => new n(e);
}
function Xa(e, t) {
	return (n) => Za(e, t, n);
}
function Za(e, t, n) {
	let r = {};
	for (let i = 0; i < e.length; ++i) r[e[i]] = t[i].at(n);
	return r;
}
// node_modules/@uwdata/flechette/src/batch.js
function Qa(e) {
	return e instanceof eo;
}
var $a = class {
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
		return Fa(this.validity, e);
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
}, eo = class extends $a {
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
}, to = class extends $a {
	static ArrayType = Hi;
}, no = class extends $a {
	static ArrayType = Array;
}, ro = class extends no {
	value(e) {
		return null;
	}
}, io = class extends to {
	value(e) {
		return Da(this.values[e]);
	}
}, ao = class extends to {
	value(e) {
		let t = this.values[e], n = (t & 31744) >> 10, r = (t & 1023) / 1024, i = (-1) ** ((t & 32768) >> 15);
		switch (n) {
			case 31: return i * (r ? NaN : 1 / 0);
			case 0: return i * (r ? 6103515625e-14 * r : 0);
		}
		return i * 2 ** (n - 15) * (1 + r);
	}
}, oo = class extends no {
	value(e) {
		return Fa(this.values, e);
	}
}, so = class extends to {
	constructor(e) {
		super(e);
		let { scale: t } = this.type;
		this.scale = 10 ** t;
	}
	value(e) {
		return this.values[e] / this.scale;
	}
}, co = class extends $a {
	constructor(e) {
		super(e);
		let { bitWidth: t, scale: n } = this.type;
		this.decimal = t === 64 ? Aa : t === 128 ? ja : Ma, this.scale = 10n ** BigInt(n);
	}
}, lo = class extends co {
	static ArrayType = Hi;
	value(e) {
		return Oa(this.decimal(this.values, e), this.scale);
	}
}, uo = class extends co {
	static ArrayType = Array;
	value(e) {
		return this.decimal(this.values, e);
	}
}, fo = class extends no {
	constructor(e) {
		super(e), this.source = e;
	}
	value(e) {
		return new Date(this.source.value(e));
	}
}, po = class extends to {
	value(e) {
		return 864e5 * this.values[e];
	}
}, mo = io, ho = class extends io {
	value(e) {
		return super.value(e) * 1e3;
	}
}, go = io, _o = class extends io {
	value(e) {
		return Oa(this.values[e], 1000n);
	}
}, vo = class extends io {
	value(e) {
		return Oa(this.values[e], 1000000n);
	}
}, yo = class extends no {
	value(e) {
		return this.values.subarray(e << 1, e + 1 << 1);
	}
}, bo = class extends no {
	value(e) {
		let t = this.values, n = e << 4;
		return Float64Array.of(Ua(t, n), Ua(t, n + 4), Ga(t, n + 8));
	}
}, xo = ({ values: e, offsets: t }, n) => e.subarray(t[n], t[n + 1]), So = ({ values: e, offsets: t }, n) => e.subarray(Da(t[n]), Da(t[n + 1])), Co = class extends no {
	value(e) {
		return xo(this, e);
	}
}, wo = class extends no {
	value(e) {
		return So(this, e);
	}
}, To = class extends no {
	value(e) {
		return Pa(xo(this, e));
	}
}, Eo = class extends no {
	value(e) {
		return Pa(So(this, e));
	}
}, Do = class extends no {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(t[e], t[e + 1]);
	}
}, Oo = class extends no {
	value(e) {
		let t = this.offsets;
		return this.children[0].slice(Da(t[e]), Da(t[e + 1]));
	}
}, ko = class extends no {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(t, n);
	}
}, Ao = class extends no {
	value(e) {
		let t = this.offsets[e], n = t + this.sizes[e];
		return this.children[0].slice(Da(t), Da(n));
	}
}, jo = class extends no {
	constructor(e) {
		super(e), this.stride = this.type.stride;
	}
}, Mo = class extends jo {
	value(e) {
		let { stride: t, values: n } = this;
		return n.subarray(e * t, (e + 1) * t);
	}
}, No = class extends jo {
	value(e) {
		let { children: t, stride: n } = this;
		return t[0].slice(e * n, (e + 1) * n);
	}
};
function Po({ children: e, offsets: t }, n) {
	let [r, i] = e[0].children, a = t[n], o = t[n + 1], s = [];
	for (let e = a; e < o; ++e) s.push([r.at(e), i.at(e)]);
	return s;
}
var Fo = class extends no {
	value(e) {
		return Po(this, e);
	}
}, Io = class extends no {
	value(e) {
		return new Map(Po(this, e));
	}
}, Lo = class extends no {
	constructor({ typeIds: e, ...t }) {
		super(t), this.typeIds = e, this.typeMap = this.type.typeMap;
	}
	value(e, t = e) {
		let { typeIds: n, children: r, typeMap: i } = this;
		return r[i[n[e]]].at(t);
	}
}, Ro = class extends Lo {
	value(e) {
		return super.value(e, this.offsets[e]);
	}
}, zo = class extends no {
	constructor(e, t = Xa) {
		super(e), this.names = this.type.children.map((e) => e.name), this.factory = t(this.names, this.children);
	}
	value(e) {
		return this.factory(e);
	}
}, Bo = class extends zo {
	constructor(e) {
		super(e, Ya);
	}
}, Vo = class extends no {
	value(e) {
		let [{ values: t }, n] = this.children;
		return n.at(qi(t, e));
	}
}, Ho = class extends no {
	setDictionary(e) {
		return this.dictionary = e, this.cache = e.cache(), this;
	}
	value(e) {
		return this.cache[this.key(e)];
	}
	key(e) {
		return this.values[e];
	}
}, Uo = class extends no {
	constructor({ data: e, ...t }) {
		super(t), this.data = e;
	}
	view(e) {
		let { values: t, data: n } = this, r = e << 4, i = r + 4, a = t, o = Ua(a, r);
		return o > 12 && (i = Ua(a, r + 12), a = n[Ua(a, r + 8)]), a.subarray(i, i + o);
	}
}, Wo = class extends Uo {
	value(e) {
		return this.view(e);
	}
}, Go = class extends Uo {
	value(e) {
		return Pa(this.view(e));
	}
};
// node_modules/@uwdata/flechette/src/column.js
function Ko(e) {
	let t = [];
	return {
		add(e) {
			return t.push(e), this;
		},
		clear: () => t = [],
		done: () => new qo(t, e)
	};
}
var qo = class {
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
		return e.length === 1 ? e[0][Symbol.iterator]() : Jo(e);
	}
	at(e) {
		let { data: t, offsets: n } = this, r = qi(n, e) - 1;
		return t[r]?.at(e - n[r]);
	}
	get(e) {
		return this.at(e);
	}
	toArray() {
		let { length: e, nullCount: t, data: n } = this, r = !t && Qa(n[0]), i = n.length;
		if (r && i === 1) return n[0].values;
		let a = new (!i || t > 0 ? Array : n[0].constructor.ArrayType ?? n[0].values.constructor)(e);
		return r ? Yo(a, n) : Xo(a, n);
	}
	cache() {
		return this._cache ??= this.toArray();
	}
};
function* Jo(e) {
	for (let t = 0; t < e.length; ++t) {
		let n = e[t][Symbol.iterator]();
		for (let e = n.next(); !e.done; e = n.next()) yield e.value;
	}
}
function Yo(e, t) {
	for (let n = 0, r = 0; n < t.length; ++n) {
		let { values: i } = t[n];
		e.set(i, r), r += i.length;
	}
	return e;
}
function Xo(e, t) {
	let n = -1;
	for (let r = 0; r < t.length; ++r) {
		let i = t[r];
		for (let t = 0; t < i.length; ++t) e[++n] = i.at(t);
	}
	return e;
}
// node_modules/@uwdata/flechette/src/table.js
var Zo = class e {
	constructor(e, t, n = !1) {
		let r = e.fields.map((e) => e.name);
		this.schema = e, this.names = r, this.children = t, this.factory = n ? Ya : Xa;
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
			fields: t.map((e, t) => Qo(o[e], n[t]))
		}, t.map((e) => r[e]), i === Ya);
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
		let [{ offsets: i }] = t, a = qi(i, e) - 1;
		return n(a)(e - i[a]);
	}
	get(e) {
		return this.at(e);
	}
};
function Qo(e, t) {
	return t != null && t !== e.name ? {
		...e,
		name: t
	} : e;
}
// node_modules/@uwdata/flechette/src/batch-type.js
function $o(e, t = {}) {
	let { typeId: n, bitWidth: r, mode: i, precision: a, unit: o } = e, { useBigInt: s, useBigIntTimestamp: c, useDate: l, useDecimalInt: u, useMap: d, useProxy: f } = t;
	switch (n) {
		case Z.Null: return ro;
		case Z.Bool: return oo;
		case Z.Int:
		case Z.Time:
		case Z.Duration: return s || r < 64 ? eo : io;
		case Z.Float: return a ? eo : ao;
		case Z.Date: return es(o === Di.DAY ? po : mo, l && fo);
		case Z.Timestamp: return c ? eo : es(o === Oi.SECOND ? ho : o === Oi.MILLISECOND ? go : o === Oi.MICROSECOND ? _o : vo, l && fo);
		case Z.Decimal: return r === 32 ? u ? eo : so : u ? uo : lo;
		case Z.Interval: return o === ki.DAY_TIME ? yo : o === ki.YEAR_MONTH ? eo : bo;
		case Z.FixedSizeBinary: return Mo;
		case Z.Utf8: return To;
		case Z.LargeUtf8: return Eo;
		case Z.Binary: return Co;
		case Z.LargeBinary: return wo;
		case Z.BinaryView: return Wo;
		case Z.Utf8View: return Go;
		case Z.List: return Do;
		case Z.LargeList: return Oo;
		case Z.Map: return d ? Io : Fo;
		case Z.ListView: return ko;
		case Z.LargeListView: return Ao;
		case Z.FixedSizeList: return No;
		case Z.Struct: return f ? Bo : zo;
		case Z.RunEndEncoded: return Vo;
		case Z.Dictionary: return Ho;
		case Z.Union: return i ? Ro : Lo;
	}
	throw Error(Zi(n));
}
function es(e, t) {
	return t ? class extends t {
		constructor(t) {
			super(new e(t));
		}
	} : e;
}
// node_modules/@uwdata/flechette/src/compression.js
var ts = -1, ns = 8;
function rs(e) {
	return `Missing compression codec "${Xi(ji, e)}" (id ${e})`;
}
var is = new Map();
function as(e) {
	return e != null && is.get(e) || null;
}
function os(e, { offset: t, length: n }, r) {
	if (n === 0) return {
		bytes: new Uint8Array(),
		offset: 0,
		length: 0
	};
	let i = Ga(e, t), a = e.subarray(t + ns, t + n), o = i === ts ? a : r.decode(a, i);
	return {
		bytes: o,
		offset: 0,
		length: o.length
	};
}
// node_modules/@uwdata/flechette/src/decode/block.js
function ss(e, t) {
	return {
		offset: Ga(e, t),
		metadataLength: Ua(e, t + 8),
		bodyLength: Ga(e, t + 16)
	};
}
function cs(e, t) {
	return qa(e, t, 24, ss);
}
// node_modules/@uwdata/flechette/src/decode/body-compression.js
function ls(e, t) {
	let n = Ia(e, t);
	return {
		codec: n(4, za, ji.LZ4_FRAME),
		method: n(6, za, Mi.BUFFER)
	};
}
// node_modules/@uwdata/flechette/src/decode/record-batch.js
function us(e, t, n) {
	let r = Ia(e, t), i = n < wi.V4 ? 8 : 0;
	return {
		length: r(4, Ga, 0),
		nodes: qa(e, r(6, La), 16, (e, t) => ({
			length: Ga(e, t),
			nullCount: Ga(e, t + 8)
		})),
		regions: qa(e, r(8, La), 16 + i, (e, t) => ({
			offset: Ga(e, t + i),
			length: Ga(e, t + i + 8)
		})),
		compression: r(10, ls),
		variadic: qa(e, r(12, La), 8, Ga)
	};
}
// node_modules/@uwdata/flechette/src/decode/dictionary-batch.js
function ds(e, t, n) {
	let r = Ia(e, t);
	return {
		id: r(4, Ga, 0),
		data: r(6, (e, t) => us(e, t, n)),
		isDelta: r(8, Ra, !1)
	};
}
// node_modules/@uwdata/flechette/src/decode/data-type.js
function fs(e, t, n, r) {
	Yi(n, Z, Zi);
	let i = Ia(e, t);
	switch (n) {
		case Z.Binary: return oa();
		case Z.Utf8: return sa();
		case Z.LargeBinary: return ba();
		case Z.LargeUtf8: return xa();
		case Z.List: return pa(r[0]);
		case Z.ListView: return wa(r[0]);
		case Z.LargeList: return Sa(r[0]);
		case Z.LargeListView: return Ta(r[0]);
		case Z.Struct: return ma(r);
		case Z.RunEndEncoded: return Ca(r[0], r[1]);
		case Z.Int: return ra(i(4, Ua, 0), i(6, Ra, !1));
		case Z.Float: return aa(i(4, Va, Ei.HALF));
		case Z.Decimal: return ca(i(4, Ua, 0), i(6, Ua, 0), i(8, Ua, 128));
		case Z.Date: return la(i(4, Va, Di.MILLISECOND));
		case Z.Time: return ua(i(4, Va, Oi.MILLISECOND));
		case Z.Timestamp: return da(i(4, Va, Oi.SECOND), i(6, Ka));
		case Z.Interval: return fa(i(4, Va, ki.YEAR_MONTH));
		case Z.Duration: return ya(i(4, Va, Oi.MILLISECOND));
		case Z.FixedSizeBinary: return ga(i(4, Ua, 0));
		case Z.FixedSizeList: return _a(r[0], i(4, Ua, 0));
		case Z.Map: return va(i(4, Ra, !1), r[0]);
		case Z.Union: return ha(i(4, Va, Ai.Sparse), r, qa(e, i(6, La), 4, Ua));
	}
	return { typeId: n };
}
// node_modules/@uwdata/flechette/src/decode/metadata.js
function ps(e, t) {
	let n = qa(e, t, 4, (e, t) => {
		let n = Ia(e, t);
		return [n(4, Ka), n(6, Ka)];
	});
	return n.length ? new Map(n) : null;
}
// node_modules/@uwdata/flechette/src/decode/schema.js
function ms(e, t, n) {
	let r = Ia(e, t);
	return {
		version: n,
		endianness: r(4, Va, 0),
		fields: r(6, hs, []),
		metadata: r(8, ps)
	};
}
function hs(e, t) {
	return qa(e, t, 4, gs);
}
function gs(e, t) {
	let n = Ia(e, t), r = n(8, Ba, Z.NONE), i = n(10, La, 0), a = n(12, vs), o = fs(e, i, r, n(14, _s, []));
	return a && (a.dictionary = o, o = a), {
		name: n(4, Ka),
		type: o,
		nullable: n(6, Ra, !1),
		metadata: n(16, ps)
	};
}
function _s(e, t) {
	return qa(e, t, 4, gs);
}
function vs(e, t) {
	if (!t) return null;
	let n = Ia(e, t);
	return na(null, n(6, ys, ia()), n(8, Ra, !1), n(4, Ga, 0));
}
function ys(e, t) {
	return fs(e, t, Z.Int);
}
// node_modules/@uwdata/flechette/src/decode/message.js
var bs = (e, t) => `Expected to read ${e} metadata bytes, but only read ${t}.`, xs = (e, t) => `Expected to read ${e} bytes for message body, but only read ${t}.`, Ss = (e) => `Unsupported message type: ${e} (${Xi(Ti, e)})`;
function Cs(e, t) {
	let n = Ua(e, t) || 0;
	if (t += 4, n === -1 && (n = Ua(e, t) || 0, t += 4), n === 0) return null;
	let r = e.subarray(t, t += n);
	if (r.byteLength < n) throw Error(bs(n, r.byteLength));
	let i = Ia(r, 0), a = i(4, Va, wi.V1), o = i(6, Ba, Ti.NONE), s = i(8, La, 0), c = i(10, Ga, 0), l;
	if (s) {
		let n = o === Ti.Schema ? ms : o === Ti.DictionaryBatch ? ds : o === Ti.RecordBatch ? us : null;
		if (!n) throw Error(Ss(o));
		if (l = n(r, s, a), c > 0) {
			let n = e.subarray(t, t += c);
			if (n.byteLength < c) throw Error(xs(c, n.byteLength));
			l.body = n;
		} else o !== Ti.Schema && (l.body = new Uint8Array());
	}
	return {
		version: a,
		type: o,
		index: t,
		content: l
	};
}
// node_modules/@uwdata/flechette/src/decode/decode-ipc.js
function ws(e) {
	let t = Wi(e) ? new Uint8Array(e) : e;
	return Gi(t) && Ts(t) ? Ds(t) : Es(t);
}
function Ts(e) {
	if (!e || e.length < 4) return !1;
	for (let t = 0; t < 6; ++t) if (Ci[t] !== e[t]) return !1;
	return !0;
}
function Es(e) {
	let t = [e].flat(), n, r = [], i = [], a = [];
	for (let e of t) {
		if (!Gi(e)) throw Error("IPC data batch was not a Uint8Array.");
		let t = 0;
		for (;;) {
			let o = Cs(e, t);
			if (o === null) break;
			if (t = o.index, o.content) switch (o.type) {
				case Ti.Schema:
					n ||= o.content;
					break;
				case Ti.RecordBatch:
					r.push(o.content), a.push(i.length);
					break;
				case Ti.DictionaryBatch: i.push(o.content);
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
function Ds(e) {
	let t = e.byteLength - (Ci.length + 4), n = Ia(e, t - Ua(e, t)), r = n(4, Va, wi.V1), i = n(8, cs, []), a = n(10, cs, []), o = a.map((e) => i.filter((t) => t.offset < e.offset).length);
	return {
		schema: n(6, (e, t) => ms(e, t, r)),
		dictionaries: i.map(({ offset: t }) => Cs(e, t).content),
		records: a.map(({ offset: t }) => Cs(e, t).content),
		dictsBeforeRecord: o,
		metadata: n(12, ps)
	};
}
// node_modules/@uwdata/flechette/src/decode/table-from-ipc.js
function Os(e, t) {
	return ks(ws(e), t);
}
function ks(e, t = {}) {
	let { schema: n = { fields: [] }, dictionaries: r, records: i, dictsBeforeRecord: a } = e, { version: o, fields: s } = n, c = new Map(), l = js(t, o, c), u = new Map();
	As(n, (e) => {
		let t = e.type;
		t.typeId === Z.Dictionary && u.set(t.id, t.dictionary);
	});
	let d = (e) => {
		let { id: t, data: n, isDelta: r, body: i } = e, a = u.get(t), o = Ns(a, l({
			...n,
			body: i
		})), s = c.get(t);
		if (s) r ? c.set(t, new qo([...s.data, o], a)) : c.set(t, new qo([o], a));
		else {
			if (r) throw Error("Delta update can not be first dictionary batch.");
			c.set(t, new qo([o], a));
		}
	}, f = s.map((e) => Ko(e.type)), p = 0;
	for (let e = 0; e < i.length; e++) {
		let t = a ? a[e] : r.length;
		for (; p < t;) d(r[p++]);
		let n = l(i[e]);
		s.forEach((e, t) => f[t].add(Ns(e.type, n)));
	}
	for (; p < r.length;) d(r[p++]);
	return new Zo(n, f.map((e) => e.done()), t.useProxy);
}
function As(e, t) {
	e.fields.forEach(function e(n) {
		t(n), n.type.dictionary?.children?.forEach(e), n.type.children?.forEach(e);
	});
}
function js(e, t, n) {
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
				let { bytes: t, length: n, offset: r } = Ms(s, i[++l], a);
				return e ? new e(t.buffer, t.byteOffset + r, n / e.BYTES_PER_ELEMENT) : t.subarray(r, r + n);
			},
			variadic: () => o[++u],
			visit(e) {
				return e.map((e) => Ns(e.type, this));
			}
		};
	};
}
function Ms(e, t, n) {
	if (!n) return {
		bytes: e,
		...t
	};
	if (n.method !== Mi.BUFFER) throw Error(`Unknown compression method (${n.method})`);
	{
		let r = n.codec, i = as(r);
		if (!i) throw Error(rs(r));
		return os(e, t, i);
	}
}
function Ns(e, t) {
	let { typeId: n } = e, { options: r, node: i, buffer: a, variadic: o, version: s } = t, c = $o(e, r), l = {
		...i(),
		type: e
	};
	if (n === Z.Null) return new c({
		...l,
		nullCount: l.length
	});
	switch (n) {
		case Z.Bool:
		case Z.Int:
		case Z.Time:
		case Z.Duration:
		case Z.Float:
		case Z.Decimal:
		case Z.Date:
		case Z.Timestamp:
		case Z.Interval:
		case Z.FixedSizeBinary: return new c({
			...l,
			validity: a(),
			values: a(e.values)
		});
		case Z.Utf8:
		case Z.LargeUtf8:
		case Z.Binary:
		case Z.LargeBinary: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			values: a()
		});
		case Z.BinaryView:
		case Z.Utf8View: return new c({
			...l,
			validity: a(),
			values: a(),
			data: Array.from({ length: o() }, () => a())
		});
		case Z.List:
		case Z.LargeList:
		case Z.Map: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			children: t.visit(e.children)
		});
		case Z.ListView:
		case Z.LargeListView: return new c({
			...l,
			validity: a(),
			offsets: a(e.offsets),
			sizes: a(e.offsets),
			children: t.visit(e.children)
		});
		case Z.FixedSizeList:
		case Z.Struct: return new c({
			...l,
			validity: a(),
			children: t.visit(e.children)
		});
		case Z.RunEndEncoded: return new c({
			...l,
			children: t.visit(e.children)
		});
		case Z.Dictionary: {
			let { id: n, indices: r } = e;
			return new c({
				...l,
				validity: a(),
				values: a(r.values)
			}).setDictionary(t.dictionary(n));
		}
		case Z.Union: return s < wi.V5 && a(), new c({
			...l,
			typeIds: a(Li),
			offsets: e.mode === Ai.Sparse ? null : a(e.offsets),
			children: t.visit(e.children)
		});
		default: throw Error(Zi(n));
	}
}
new Uint16Array(new Uint8Array([1, 0]).buffer)[0];
// src/api.ts
var Ps = "tetrys-token";
function Fs() {
	let e = new URLSearchParams(location.hash.slice(1)).get("token");
	return e && (localStorage.setItem(Ps, e), history.replaceState(history.state, "", location.pathname + location.search)), e !== null;
}
var Is = class extends Error {
	kind;
	constructor(e, t) {
		super(t), this.kind = e;
	}
};
async function Ls(e, t, n) {
	let r = new URLSearchParams(t.map(([e, t]) => [e, String(t)])), i;
	try {
		i = await fetch(`/api/${e}?${r}`, {
			headers: { authorization: `Bearer ${localStorage.getItem(Ps) ?? ""}` },
			credentials: "omit",
			signal: n
		});
	} catch (e) {
		throw n?.aborted ? e : new Is("Unavailable", "The viewer does not answer. Is its command still running?");
	}
	if (i.ok) return i;
	let a = await i.json().catch(() => null);
	throw new Is(a?.error?.kind ?? "Unknown", a?.error?.message ?? `the server answered ${i.status}`);
}
async function Rs(e, t, n) {
	return (await Ls(e, t, n)).json();
}
async function zs(e, t, n) {
	let r = await Ls(e, t, n);
	return new Vs(Os(new Uint8Array(await r.arrayBuffer()), { useBigInt: !0 }));
}
async function Bs(e, t, n, r) {
	let i = (await Ls(e, t, r)).body.pipeThrough(new TextDecoderStream()).getReader(), a = "";
	for (;;) {
		let { done: e, value: t } = await i.read();
		if (e) {
			if (a) throw new Is("Unavailable", "The answer ended before its time");
			return;
		}
		let r = (a + t).split("\n");
		a = r.pop();
		for (let e of r) {
			let t = JSON.parse(e);
			if (t.error) throw new Is(t.error.kind, t.error.message);
			n(t);
		}
	}
}
var Vs = class {
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
function Hs(e, t) {
	let n = [["table", e]];
	for (let e of t.where) n.push(["where", e]);
	return t.sort && n.push(["sort", t.sort], ["descending", +!!t.descending]), t.only && n.push(["only", t.only.join(",")]), n;
}
// src/format.ts
var Us = new Intl.NumberFormat("en"), Ws = (e) => Us.format(e), Gs = (e, t) => `${Ws(e)} ${t}${e === 1 ? "" : "s"}`;
function Ks(e) {
	if (e < 1e3) return Gs(e, "byte");
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
function qs(e) {
	if (!Number.isFinite(e)) return Number.isNaN(e) ? "NaN" : e > 0 ? "∞" : "−∞";
	if (Number.isInteger(e) && Math.abs(e) < 0x38d7ea4c68000) return String(e).replace("-", "−");
	let t = Math.abs(e);
	return (t >= 1e-4 && t < 1e9 ? String(Number(e.toPrecision(7))) : e.toExponential(4)).replace("-", "−");
}
var Js = {
	s: 1n,
	ms: 1000n,
	us: 1000000n,
	µs: 1000000n,
	ns: 1000000000n
};
function Ys(e) {
	let t = /^timestamp\[(\w+|µs)/.exec(e);
	return t ? Js[t[1]] ?? null : null;
}
function Xs(e, t) {
	let n = Ys(t) ?? 1n, r = e / n, i = e % n;
	i < 0n && (i += n, r -= 1n);
	let a = new Date(Number(r) * 1e3);
	if (Number.isNaN(a.getTime())) return `${e}`;
	let o = String(n).length - 1, s = o ? "." + String(i).padStart(o, "0") : "";
	return a.toISOString().slice(0, 19).replace("T", " ") + s.replace(/\.?0+$/, "") + (t.includes(",") ? "Z" : "");
}
function Zs(e, t) {
	let n = /\[(\w+|µs)\]/.exec(t)?.[1] ?? "s";
	return `${qs(Number(e) / Number(Js[n] ?? 1n))} s`;
}
var Qs = (e) => /^([iu](8|16|32|64)|f(16|32|64)|bf16|bool)$/.test(e ?? ""), $s = (e) => Qs(e) || /^(timestamp|date|duration)/.test(e ?? "");
function ec(e, t) {
	return e == null ? "null" : typeof e == "bigint" ? t.startsWith("timestamp") ? Xs(e, t) : t.startsWith("duration") ? Zs(e, t) : String(e).replace("-", "−") : typeof e == "number" ? t === "date" ? new Date(e * 864e5).toISOString().slice(0, 10) : qs(t === "bf16" ? oc(e) : e) : typeof e == "boolean" ? e ? "true" : "false" : String(e);
}
var tc = 300;
function nc(e, t) {
	return e == null || typeof e == "bigint" && !/^[iu]/.test(t) || typeof e == "number" && !Number.isFinite(e) || typeof e == "string" && Array.from(e).length > tc ? null : typeof e == "bigint" || typeof e == "number" || typeof e == "boolean" ? t === "date" ? null : String(e) : `'${String(e).replaceAll("'", "''")}'`;
}
var rc = (e) => `"${e.replaceAll("\"", "\"\"")}"`, ic = new Float32Array(1), ac = new Uint32Array(ic.buffer);
function oc(e) {
	return ac[0] = e << 16, ic[0];
}
function sc(e) {
	if (!(e instanceof Uint8Array) || e.length < 12) return null;
	let t = (t, n) => String.fromCharCode(...e.subarray(t, n));
	return e[0] === 255 && e[1] === 216 && e[2] === 255 ? "image/jpeg" : t(0, 8) === "PNG\r\n\n" ? "image/png" : t(0, 4) === "RIFF" && t(8, 12) === "WEBP" ? "image/webp" : t(4, 8) === "ftyp" && /^avi[fs]$/.test(t(8, 12)) ? "image/avif" : null;
}
function cc(e, t) {
	let n = /\[([\d,?]*)\]$/.exec(t)?.[1];
	if (e == null || n === void 0 || /^(timestamp|duration)/.test(t)) return null;
	let r = e, i = r.data && r.shape ? r.data : e, a = r.data && r.shape ? Array.from(r.shape) : n.split(",").filter(Boolean).map(Number);
	return {
		values: t.startsWith("bf16[") ? Float32Array.from(i, oc) : i,
		shape: a
	};
}
function lc(e) {
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
Fs(), addEventListener("hashchange", () => Fs() && location.reload());
var Q = new class {
	#e = L([]);
	get tables() {
		return G(this.#e);
	}
	set tables(e) {
		R(this.#e, e);
	}
	#t = L(0);
	get table() {
		return G(this.#t);
	}
	set table(e) {
		R(this.#t, e, !0);
	}
	#n = L(Vt([]));
	get where() {
		return G(this.#n);
	}
	set where(e) {
		R(this.#n, e, !0);
	}
	#r = L(null);
	get sort() {
		return G(this.#r);
	}
	set sort(e) {
		R(this.#r, e, !0);
	}
	#i = L(!1);
	get descending() {
		return G(this.#i);
	}
	set descending(e) {
		R(this.#i, e, !0);
	}
	#a = L(Vt([]));
	get hidden() {
		return G(this.#a);
	}
	set hidden(e) {
		R(this.#a, e, !0);
	}
	#o = L(0);
	get row() {
		return G(this.#o);
	}
	set row(e) {
		R(this.#o, e, !0);
	}
	#s = L("rows");
	get page() {
		return G(this.#s);
	}
	set page(e) {
		R(this.#s, e, !0);
	}
	#c = L(Vt([]));
	get flags() {
		return G(this.#c);
	}
	set flags(e) {
		R(this.#c, e, !0);
	}
	#l = L(!1);
	get flagged() {
		return G(this.#l);
	}
	set flagged(e) {
		R(this.#l, e, !0);
	}
	#u = L("");
	get said() {
		return G(this.#u);
	}
	set said(e) {
		R(this.#u, e, !0);
	}
	#d = F(() => this.tables[this.table]);
	get info() {
		return G(this.#d);
	}
	set info(e) {
		R(this.#d, e);
	}
	#f = F(() => ({
		where: this.where,
		sort: this.sort,
		descending: this.descending,
		only: this.flagged ? [...this.flags].sort((e, t) => e - t) : null
	}));
	get choice() {
		return G(this.#f);
	}
	set choice(e) {
		R(this.#f, e);
	}
	#p = F(() => Hs(this.table, this.choice));
	get parameters() {
		return G(this.#p);
	}
	set parameters(e) {
		R(this.#p, e);
	}
	constructor() {
		this.read(), addEventListener("popstate", () => this.read());
	}
	async load() {
		this.tables = (await Rs("tables", [])).tables, this.table >= this.tables.length && (this.table = 0);
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
}(), uc = K("<button class=\"quiet\">Columns</button>"), dc = K("<label><input type=\"checkbox\"/> <small> </small></label>"), fc = K("<div class=\"menu\" role=\"group\" aria-label=\"Columns\"></div>"), pc = K("<p>These rows are a selection in memory, which has no address.</p>"), mc = K("<section><h2> </h2> <button class=\"quiet\">Copy</button> <pre tabindex=\"0\"> </pre></section>"), hc = K("<!> <p>Store options are left out: they may be secret.</p>", 1), gc = K("<div class=\"menu wide\" role=\"group\" aria-label=\"Copy as\"><!></div>"), _c = K("<div class=\"menus\"><!> <button class=\"quiet\">Copy as</button> <!></div>");
function vc(e, t) {
	Fe(t, !0);
	let n = L(null), r = L(null), i;
	async function a(e) {
		R(n, G(n) === e ? null : e, !0), G(n) === "copy" && R(r, await Rs("copies", Q.parameters).catch(() => null), !0);
	}
	async function o(e, t) {
		await navigator.clipboard.writeText(e).then(() => Q.said = `Copied as ${t}`, () => Q.said = "The browser does not allow copying"), setTimeout(() => Q.said = "", 2500);
	}
	function s(e) {
		i?.contains(e.target) || R(n, null);
	}
	function c(e) {
		e.key === "Escape" && G(n) && (R(n, null), e.stopPropagation(), i.querySelector("button")?.focus());
	}
	let l = F(() => G(r) ? [
		["Python", G(r).python],
		["Rust", G(r).rust],
		["Command", G(r).command],
		["Save as view", G(r).view]
	] : []);
	var u = _c();
	dr("click", Wt, s);
	var d = z(u), f = (e) => {
		var t = uc();
		H(() => X(t, "aria-expanded", G(n) === "columns")), fr("click", t, () => a("columns")), q(e, t);
	};
	Y(d, (e) => {
		Q.page === "rows" && e(f);
	});
	var p = V(d, 2), h = V(p, 2), g = (e) => {
		var t = fc();
		Br(t, 21, () => Q.info?.index ?? [], Ir, (e, t) => {
			var n = dc(), r = z(n);
			ui(r);
			var i = V(r), a = B(V(i), !0);
			M(n), H((e) => {
				fi(r, e), J(i, ` ${G(t).name ?? ""} `), J(a, G(t).type);
			}, [() => !Q.hidden.includes(G(t).name)]), fr("change", r, (e) => {
				Q.hidden = e.currentTarget.checked ? Q.hidden.filter((e) => e !== G(t).name) : [...Q.hidden, G(t).name], Q.write(!1);
			}), q(e, n);
		}), M(t), q(e, t);
	}, _ = (e) => {
		var t = gc(), n = z(t), r = (e) => {
			q(e, pc());
		}, i = (e) => {
			var t = hc();
			Br(Qt(t), 17, () => G(l), Ir, (e, t) => {
				var n = F(() => m(G(t), 2));
				let r = () => G(n)[0], i = () => G(n)[1];
				var a = wr(), s = Qt(a), c = (e) => {
					var t = mc(), n = z(t), a = B(n, !0), s = V(n, 2), c = B(V(s, 2), !0);
					M(t), H(() => {
						J(a, r()), J(c, i());
					}), fr("click", s, () => o(i(), r())), q(e, t);
				};
				Y(s, (e) => {
					i() && e(c);
				}), q(e, a);
			}), ye(2), q(e, t);
		};
		Y(n, (e) => {
			Q.info?.selection ? e(r) : e(i, -1);
		}), M(t), q(e, t);
	};
	Y(h, (e) => {
		G(n) === "columns" ? e(g) : G(n) === "copy" && e(_, 1);
	}), M(u), Si(u, (e) => i = e, () => i), H(() => X(p, "aria-expanded", G(n) === "copy")), fr("keydown", u, c), fr("click", p, () => a("copy")), q(e, u), Ie();
}
pr([
	"keydown",
	"click",
	"change"
]);
// src/Path.svelte
var yc = Sr("<circle r=\"5\"></circle>"), bc = K("<span> </span>"), xc = K("<figure class=\"path\"><svg role=\"img\"><path class=\"all\"></path><path class=\"past\"></path><!></svg> <figcaption><span> </span> <!></figcaption></figure>");
function Sc(e, t) {
	Fe(t, !0);
	let n = F(() => {
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
	}), r = (e) => (e.x - G(n).west) / G(n).wide * 260, i = (e) => 260 - (e.y - G(n).south) / G(n).wide * 260, a = (e) => e.map((e, t) => `${t ? "L" : "M"}${r(e).toFixed(1)} ${i(e).toFixed(1)}`).join(""), o = F(() => t.places.filter((e) => e.row <= t.row)), s = F(() => G(o).at(-1) ?? t.places[0]);
	var c = xc(), l = z(c);
	X(l, "viewBox", "0 0 260 260");
	var u = z(l), d = V(u), f = V(d), p = (e) => {
		var t = yc();
		H((e, n) => {
			X(t, "cx", e), X(t, "cy", n);
		}, [() => r(G(s)), () => i(G(s))]), q(e, t);
	};
	Y(f, (e) => {
		G(s) && e(p);
	}), M(l);
	var m = V(l, 2), h = z(m), g = B(h), _ = V(h, 2), v = (e) => {
		var t = bc(), n = B(t);
		H((e, t) => J(n, `${e ?? ""}, ${t ?? ""}`), [() => qs(G(s).x), () => qs(G(s).y)]), q(e, t);
	};
	Y(_, (e) => {
		G(s) && e(v);
	}), M(m), M(c), H((e, n) => {
		X(l, "aria-label", `${t.name ?? ""}: the path from above`), X(u, "d", e), X(d, "d", n), J(g, `${t.name ?? ""}, from above`);
	}, [() => a(t.places), () => a(G(o))]), q(e, c), Ie();
}
// src/Pictures.svelte
var Cc = K("<button class=\"enlarge\"><img/></button>"), wc = K("<p class=\"absent tall\"> </p>"), Tc = K("<span class=\"absent\" title=\"outside the sequence\">none</span>"), Ec = K("<img alt=\"\"/>"), Dc = K("<span class=\"absent\">null</span>"), Oc = K("<button><!></button>"), kc = K("<li><!> <small> </small></li>"), Ac = K("<ol></ol>"), jc = K("<button aria-label=\"Close\"><img/></button>"), Mc = K("<figure class=\"picture\"><!> <!> <figcaption><span> </span><span> </span></figcaption></figure> <dialog><!></dialog>", 1);
function Nc(e, t) {
	Fe(t, !0);
	let n = L(void 0), r = L(""), i = [];
	function a(e) {
		let t = sc(e);
		if (!t) return null;
		let n = URL.createObjectURL(new Blob([e], { type: t }));
		return i.push(n), {
			address: n,
			bytes: e.length
		};
	}
	let o = L(null), s = L([]);
	dn(() => {
		let e = i;
		i = [], R(o, a(t.batch.value(t.name, 0))), R(s, t.strip ? t.strip.rows.map((e, n) => ({
			row: e,
			offset: n - t.before,
			shown: t.strip.there(t.name, n) ? a(t.strip.value(t.name, n)) : null
		})) : []), setTimeout(() => e.forEach((e) => URL.revokeObjectURL(e)), 500);
	}), dn(() => () => i.forEach((e) => URL.revokeObjectURL(e)));
	var c = Mc(), l = Qt(c), u = z(l), d = (e) => {
		var i = Cc(), a = B(i);
		H(() => {
			X(i, "aria-label", `Enlarge ${t.name ?? ""}`), X(a, "src", G(o).address), X(a, "alt", `${t.name ?? ""} of row ${Q.row ?? ""}`);
		}), fr("click", i, () => G(n)?.showModal()), dr("load", a, (e) => {
			let t = e.currentTarget;
			R(r, `${t.naturalWidth} × ${t.naturalHeight}`);
		}), dr("error", a, () => R(r, "the browser cannot show it")), lr(a), q(e, i);
	}, f = (e) => {
		var n = wc(), r = B(n, !0);
		H((e) => J(r, e), [() => t.batch.value(t.name, 0) === null ? "null" : "no picture"]), q(e, n);
	};
	Y(u, (e) => {
		G(o) ? e(d) : e(f, -1);
	});
	var p = V(u, 2), m = (e) => {
		var n = Ac();
		let r;
		Br(n, 21, () => G(s), (e) => e.offset, (e, t) => {
			var n = kc(), r = z(n), i = (e) => {
				q(e, Tc());
			}, a = (e) => {
				var n = Oc();
				let r;
				var i = z(n), a = (e) => {
					var n = Ec();
					H(() => X(n, "src", G(t).shown.address)), q(e, n);
				}, o = (e) => {
					q(e, Dc());
				};
				Y(i, (e) => {
					G(t).shown ? e(a) : e(o, -1);
				}), M(n), H(() => {
					n.disabled = Q.info?.view || Q.info?.selection || G(t).offset === 0, X(n, "aria-label", `Offset ${G(t).offset ?? ""}`), r = Zr(n, 1, "", null, r, { here: G(t).offset === 0 });
				}), fr("click", n, () => Q.step(Q.row + G(t).offset)), q(e, n);
			};
			Y(r, (e) => {
				G(t).row === null ? e(i) : e(a, -1);
			});
			var o = B(V(r, 2));
			M(n), H(() => J(o, `${G(t).offset > 0 ? "+" : ""}${(G(t).offset || "row") ?? ""}`)), q(e, n);
		}), M(n), H(() => {
			r = Zr(n, 1, "strip", null, r, { stale: t.isStale }), X(n, "aria-label", `Neighbours of ${t.name ?? ""}`);
		}), q(e, n);
	};
	Y(p, (e) => {
		G(s).length && e(m);
	});
	var h = V(p, 2), g = z(h), _ = B(g, !0), v = B(V(g));
	M(h), M(l);
	var y = V(l, 2), b = z(y), x = (e) => {
		var r = jc();
		qe(r, !0);
		var i = B(r);
		H(() => {
			X(i, "src", G(o).address), X(i, "alt", `${t.name ?? ""} of row ${Q.row ?? ""}, enlarged`);
		}), fr("click", r, () => G(n)?.close()), q(e, r);
	};
	Y(b, (e) => {
		G(o) && e(x);
	}), M(y), Si(y, (e) => R(n, e), () => G(n)), H((e) => {
		J(_, t.name), J(v, `${G(r) ?? ""}${e ?? ""}`), X(y, "aria-label", t.name);
	}, [() => G(o) ? ` · ${Ks(G(o).bytes)}` : ""]), q(e, c), Ie();
}
pr(["click"]);
// node_modules/uplot/dist/uPlot.esm.js
var Pc = !0, Fc = "uplot", Ic = "u-hz", Lc = "u-vt", Rc = "u-title", zc = "u-wrap", Bc = "u-under", Vc = "u-over", Hc = "u-axis", Uc = "u-off", Wc = "u-select", Gc = "u-cursor-x", Kc = "u-cursor-y", qc = "u-cursor-pt", Jc = "u-legend", Yc = "u-live", Xc = "u-inline", Zc = "u-series", Qc = "u-marker", $c = "u-label", el = "u-value", tl = "width", nl = "height", rl = "top", il = "bottom", al = "left", ol = "right", sl = "#000", cl = "#0000", ll = "mousemove", ul = "mousedown", dl = "mouseup", fl = "mouseenter", pl = "mouseleave", ml = "dblclick", hl = "resize", gl = "scroll", _l = "change", vl = "dppxchange", yl = "--", bl = typeof window < "u", xl = bl ? document : null, Sl = bl ? window : null, Cl = bl ? navigator : null, wl, Tl;
function El() {
	let e = devicePixelRatio;
	wl != e && (wl = e, Tl && Vl(_l, Tl, El), Tl = matchMedia(`(min-resolution: ${wl - .001}dppx) and (max-resolution: ${wl + .001}dppx)`), Bl(_l, Tl, El), Sl.dispatchEvent(new CustomEvent(vl)));
}
function Dl(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function Ol(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function kl(e, t, n) {
	e.style[t] = n + "px";
}
function Al(e, t, n, r) {
	let i = xl.createElement(e);
	return t != null && Dl(i, t), n?.insertBefore(i, r), i;
}
function jl(e, t) {
	return Al("div", e, t);
}
var Ml = new WeakMap();
function Nl(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != Ml.get(e) && (e.style.transform = a, Ml.set(e, a), t < 0 || n < 0 || t > r || n > i ? Dl(e, Uc) : Ol(e, Uc));
}
var Pl = new WeakMap();
function Fl(e, t, n) {
	let r = t + n;
	r != Pl.get(e) && (Pl.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var Il = new WeakMap();
function Ll(e, t, n, r) {
	let i = t + "" + n;
	i != Il.get(e) && (Il.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var Rl = { passive: !0 }, zl = {
	...Rl,
	capture: !0
};
function Bl(e, t, n, r) {
	t.addEventListener(e, n, r ? zl : Rl);
}
function Vl(e, t, n, r) {
	t.removeEventListener(e, n, Rl);
}
bl && El();
function Hl(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 2147483647;
	for (; r - n > 1;) i = a ? n + r >> 1 : uu((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function Ul(e) {
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
var Wl = (e) => e != null, Gl = (e) => e != null && e > 0, Kl = Ul(Wl), ql = Ul(Gl);
function Jl(e, t, n, r = 0, i = !1) {
	let a = i ? ql : Kl, o = i ? Gl : Wl;
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
	return [s ?? xu, c ?? -xu];
}
function Yl(e, t, n, r) {
	let i = gu(e), a = gu(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? _u : vu, s = i == 1 ? uu : fu, c = a == 1 ? fu : uu, l = s(o(lu(e))), u = c(o(lu(t))), d = hu(n, l), f = hu(n, u);
	return n == 10 && (l < 0 && (d = Iu(d, -l)), u < 0 && (f = Iu(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = Fu(e, d), t = Pu(t, f)), [e, t];
}
function Xl(e, t, n, r) {
	let i = Yl(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var Zl = .1, Ql = {
	mode: 3,
	pad: Zl
}, $l = {
	pad: 0,
	soft: null,
	mode: 0
}, eu = {
	min: $l,
	max: $l
};
function tu(e, t, n, r) {
	return qu(n) ? iu(e, t, n) : ($l.pad = n, $l.soft = r ? 0 : null, $l.mode = r ? 3 : 0, iu(e, t, eu));
}
function nu(e, t) {
	return e ?? t;
}
function ru(e, t, n) {
	for (t = nu(t, 0), n = nu(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function iu(e, t, n) {
	let r = n.min, i = n.max, a = nu(r.pad, 0), o = nu(i.pad, 0), s = nu(r.hard, -xu), c = nu(i.hard, xu), l = nu(r.soft, xu), u = nu(i.soft, -xu), d = nu(r.mode, 0), f = nu(i.mode, 0), p = t - e, m = _u(p), h = mu(lu(e), lu(t)), g = lu(_u(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != xu && (a = 0), f == 2 && u != -xu && (o = 0)));
	let _ = p || h || 1e3, v = hu(10, uu(_u(_))), y = Iu(Fu(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : xu, x = mu(s, y < b && e >= b ? b : pu(b, y)), S = Iu(Pu(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -xu, w = pu(c, S > C && t <= C ? C : mu(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var au = new Intl.NumberFormat(bl ? Cl.language : "en-US"), ou = (e) => au.format(e), su = Math, cu = su.PI, lu = su.abs, uu = su.floor, du = su.round, fu = su.ceil, pu = su.min, mu = su.max, hu = su.pow, gu = su.sign, _u = su.log10, vu = su.log2, yu = (e, t = 1) => su.sinh(e) * t, bu = (e, t = 1) => su.asinh(e / t), xu = Infinity;
function Su(e) {
	return (_u((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function Cu(e, t, n) {
	return pu(mu(e, t), n);
}
function wu(e) {
	return typeof e == "function";
}
function $(e) {
	return wu(e) ? e : () => e;
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
	return Mu(fu(Mu(e / t)) * t);
}
function Fu(e, t) {
	return Mu(uu(Mu(e / t)) * t);
}
function Iu(e, t = 0) {
	if (Wu(e)) return e;
	let n = 10 ** t;
	return du(e * n * (1 + 2 ** -52)) / n;
}
var Lu = new Map();
function Ru(e) {
	return (("" + e).split(".")[1] || "").length;
}
function zu(e, t, n, r) {
	let i = [], a = r.map(Ru);
	for (let o = t; o < n; o++) {
		let t = lu(o), n = Iu(hu(e, o), t);
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
function rd(e, t) {
	if (od(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return sd(t[0]) || (t = ad(t)), t;
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
}
var id = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function ad(e) {
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
function od(e) {
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
function sd(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = mu(1, uu((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var cd = [
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
], ld = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function ud(e) {
	return e.slice(0, 3);
}
var dd = ld.map(ud), fd = {
	MMMM: cd,
	MMM: cd.map(ud),
	WWWW: ld,
	WWW: dd
};
function pd(e) {
	return (e < 10 ? "0" : "") + e;
}
function md(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var hd = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => pd(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => pd(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => pd(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => pd(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => pd(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => md(e.getMilliseconds())
};
function gd(e, t) {
	t ||= fd;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? hd[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var _d = new Intl.DateTimeFormat().resolvedOptions().timeZone;
function vd(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = new Date(+e + e.getTimezoneOffset() * 6e4) : t == _d ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}
var yd = (e) => e % 1 == 0, bd = [
	1,
	2,
	2.5,
	5
], xd = zu(10, -32, 0, bd), Sd = zu(10, 0, 32, bd), Cd = Sd.filter(yd), wd = xd.concat(Sd), Td = "\n", Ed = "{YYYY}", Dd = Td + Ed, Od = "{M}/{D}", kd = Td + Od, Ad = kd + "/{YY}", jd = "{aa}", Md = "{h}:{mm}" + jd, Nd = Td + Md, Pd = ":{ss}", Fd = null;
function Id(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? zu(10, 0, 3, bd).filter(yd) : zu(10, -3, 0, bd)).concat([
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
			Ed,
			Fd,
			Fd,
			Fd,
			Fd,
			Fd,
			Fd,
			1
		],
		[
			i * 28,
			"{MMM}",
			Dd,
			Fd,
			Fd,
			Fd,
			Fd,
			Fd,
			1
		],
		[
			i,
			Od,
			Dd,
			Fd,
			Fd,
			Fd,
			Fd,
			Fd,
			1
		],
		[
			r,
			"{h}" + jd,
			Ad,
			Fd,
			kd,
			Fd,
			Fd,
			Fd,
			1
		],
		[
			n,
			Md,
			Ad,
			Fd,
			kd,
			Fd,
			Fd,
			Fd,
			1
		],
		[
			t,
			Pd,
			Ad + " " + Md,
			Fd,
			kd + " " + Md,
			Fd,
			Nd,
			Fd,
			1
		],
		[
			e,
			Pd + ".{fff}",
			Ad + " " + Md,
			Fd,
			kd + " " + Md,
			Fd,
			Nd,
			Fd,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = Iu(g * e, 3), v = Kd(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = Iu(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : Iu(Kd(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(du(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = Kd(c + r * a, l + n * a, 1), s = o - t(Iu(o * e, 3));
					i = Iu((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (uu(l) - uu(_)) + Pu(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = Iu(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = uu(Iu(h + g, 6)) % 24, n = t(o).getHours() - e;
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
var [Ld, Rd, zd] = Id(1), [Bd, Vd, Hd] = Id(.001);
zu(2, -53, 53, [1]);
function Ud(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function Wd(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function Gd(e, t) {
	let n = gd(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function Kd(e, t, n) {
	return new Date(e, t, n);
}
function qd(e, t) {
	return t(e);
}
var Jd = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function Yd(e, t) {
	return (n, r, i, a) => a == null ? yl : t(e(r));
}
function Xd(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function Zd(e, t) {
	return e.series[t].fill(e, t);
}
var Qd = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: Tu,
	markers: {
		show: !0,
		width: 2,
		stroke: Xd,
		fill: Zd,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function $d(e, t) {
	let n = e.cursor.points, r = jl(), i = n.size(e, t);
	kl(r, tl, i), kl(r, nl, i);
	let a = i / -2;
	kl(r, "marginLeft", a), kl(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && kl(r, "borderWidth", o), r;
}
function ef(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function tf(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function nf(e, t) {
	return e.series[t].points.size;
}
var rf = [0, 0];
function af(e, t, n) {
	return rf[0] = t, rf[1] = n, rf;
}
function of(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function sf(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var cf = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: af,
	points: {
		one: !1,
		show: $d,
		size: nf,
		width: 0,
		stroke: tf,
		fill: ef
	},
	bind: {
		mousedown: of,
		mouseup: of,
		click: of,
		dblclick: of,
		mousemove: sf,
		mouseleave: sf,
		mouseenter: sf
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
}, lf = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, uf = Qu({}, lf, { filter: Du }), df = Qu({}, uf, { size: 10 }), ff = Qu({}, lf, { show: !1 }), pf = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", mf = "bold " + pf, hf = 1.5, gf = {
	show: !0,
	scale: "x",
	stroke: sl,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: mf,
	side: 2,
	grid: uf,
	ticks: df,
	border: ff,
	font: pf,
	lineGap: hf,
	rotate: 0
}, _f = "Value", vf = "Time", yf = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: xu,
	max: -Infinity,
	idxs: []
};
function bf(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : ou(e));
}
function xf(e, t, n, r, i, a, o) {
	let s = [], c = Lu.get(i) || 0;
	n = o ? n : Iu(Pu(n, i), c);
	for (let e = n; e <= r; e = Iu(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function Sf(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = hu(c, uu((c == 10 ? _u : vu)(n))), c == 10 && (i = wd[Hl(i, wd)]);
	let l = n, u = i * c;
	c == 10 && (u = wd[Hl(u, wd)]);
	do
		s.push(l), l += i, c == 10 && !Lu.has(l) && (l = Iu(l, Lu.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = wd[Hl(u, wd)]));
	while (l <= r);
	return s;
}
function Cf(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? Sf(e, t, mu(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? Sf(e, t, mu(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var wf = /./, Tf = /[12357]/, Ef = /[125]/, Df = /1/, Of = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function kf(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? wf : c(7, o) - u >= l ? Tf : c(5, o) - u >= l ? Ef : Df;
	if (d == Df) {
		let e = lu(c(1, o) - u);
		if (e < l) return Of(t.slice().reverse(), s.distr, d, fu(l / e)).reverse();
	}
	return Of(t, s.distr, d, 1);
}
function Af(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = lu(c(1, o) - c(2, o));
	return l < s ? Of(t.slice().reverse(), 3, wf, fu(s / l)).reverse() : t;
}
function jf(e, t, n, r) {
	return r == null ? yl : t == null ? "" : ou(t);
}
var Mf = {
	show: !0,
	scale: "y",
	stroke: sl,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: mf,
	side: 3,
	grid: uf,
	ticks: df,
	border: ff,
	font: pf,
	lineGap: hf,
	rotate: 0
};
function Nf(e, t) {
	return Iu((3 + (e || 1) * 2) * t, 3);
}
function Pf(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = lu(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * wl);
	return r[1] - r[0] <= o;
}
var Ff = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: xu,
	max: -Infinity
}, If = (e, t, n, r, i) => i, Lf = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: If,
	alpha: 1,
	facets: [Qu({}, Ff, { scale: "x" }), Qu({}, Ff, { scale: "y" })]
}, Rf = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: If,
	alpha: 1,
	points: {
		show: Pf,
		filter: null
	},
	values: null,
	min: xu,
	max: -Infinity,
	idxs: [],
	path: null,
	clip: null
};
function zf(e, t, n, r, i) {
	return n / 10;
}
var Bf = {
	time: Pc,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, Vf = Qu({}, Bf, {
	time: !1,
	ori: 1
}), Hf = {};
function Uf(e, t) {
	let n = Hf[e];
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
	}, e != null && (Hf[e] = n)), n;
}
var Wf = 1, Gf = 2;
function Kf(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, tp, rp, ap, sp, lp) : n(i, c, l, u, d, _, g, p, f, h, m, np, ip, op, cp, up);
}
function qf(e, t) {
	let n = 0, r = 0, i = nu(e.bands, Vu);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function Jf(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function Yf(e, t, n, r, i, a) {
	return Kf(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? rp : ip, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function Xf(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? ap : op, c = n;
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
function Zf(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function Qf(e, t, n, r, i, a, o) {
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
function $f(e) {
	return e == 0 ? Eu : e == 1 ? du : (t) => Nu(t, e);
}
function ep(e) {
	let t = e == 0 ? tp : np, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = pu(c, o / 2, s / 2), l = pu(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var tp = (e, t, n) => {
	e.moveTo(t, n);
}, np = (e, t, n) => {
	e.moveTo(n, t);
}, rp = (e, t, n) => {
	e.lineTo(t, n);
}, ip = (e, t, n) => {
	e.lineTo(n, t);
}, ap = ep(0), op = ep(1), sp = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, cp = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, lp = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, up = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function dp(e) {
	return (e, t, n, r, i) => Kf(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = tp, v = sp) : (_ = np, v = cp);
		let y = Iu(g.width * wl, 3), b = (g.size - g.width) / 2 * wl, x = Iu(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: ee, width: T, height: E } = e.bbox;
		ap(C, w - x, ee - x, T + x * 2, E + x * 2);
		let D = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, cu * 2);
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
function fp(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var pp = fp(rp), mp = fp(ip);
function hp(e) {
	let t = nu(e?.alignGaps, 0);
	return (e, n, r, i) => Kf(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = Kl(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = rp, b = pp) : (y = ip, b = mp);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Wf
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
		let [ee, T] = qf(e, n);
		if (a.fill != null || ee != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, ee)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...Qf(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = Xf(l, c.ori, f, p, m, h);
		}
		return T != 0 && (S.band = T == 2 ? [Yf(e, n, r, i, C, -1), Yf(e, n, r, i, C, 1)] : Yf(e, n, r, i, C, T)), S;
	});
}
function gp(e) {
	let t = nu(e.align, 1), n = nu(e.ascDesc, !1), r = nu(e.alignGaps, 0), i = nu(e.extend, !1);
	return (e, a, o, s) => Kf(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = Kl(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? rp : ip, ee = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Wf
		}, T = ee.stroke, E = d.dir * (d.ori == 0 ? 1 : -1), D = C(u[E == 1 ? o : s]), te = S(l[E == 1 ? o : s]), ne = te, re = te;
		i && t == -1 && (re = b, w(T, re, D)), w(T, te, D);
		for (let e = E == 1 ? o : s; e >= o && e <= s; e += E) {
			let n = u[e];
			if (n == null) continue;
			let r = S(l[e]), i = C(n);
			t == 1 ? w(T, r, D) : w(T, ne, i), w(T, r, i), D = i, ne = r;
		}
		let ie = ne;
		i && t == 1 && (ie = b + x, w(T, ie, D));
		let [ae, oe] = qf(e, a);
		if (c.fill != null || ae != 0) {
			let t = ee.fill = new Path2D(T), n = C(c.fillTo(e, a, c.min, c.max, ae));
			w(t, ie, n), w(t, re, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...Qf(l, u, o, s, E, S, r));
			let f = c.width * wl / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), ee.gaps = i = c.gaps(e, a, o, s, i), ee.clip = Xf(i, d.ori, h, g, _, v);
		}
		return oe != 0 && (ee.band = oe == 2 ? [Yf(e, a, o, s, T, -1), Yf(e, a, o, s, T, 1)] : Yf(e, a, o, s, T, oe)), ee;
	});
}
function _p(e, t, n, r, i, a, o = xu) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = Infinity; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = lu(e[c] - e[s]);
				t < l && (l = t, o = lu(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function vp(e) {
	e ||= Bu;
	let t = nu(e.size, [
		.6,
		xu,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = $(i), o = 1 - t[0], s = nu(t[1], xu), c = nu(t[2], 1), l = nu(e.disp, Bu), u = nu(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => Kf(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let ee = m.pxRound, T = n, E = r * wl, D = s * wl, te = c * wl, ne, re;
		_.ori == 0 ? [ne, re] = a(e, t) : [re, ne] = a(e, t);
		let ie = _.dir * (_.ori == 0 ? 1 : -1), ae = _.ori == 0 ? ap : op, oe = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, se = nu(e.bands, Vu).find((e) => e.series[0] == t), ce = se == null ? 0 : se.dir, le = m.fillTo(e, t, m.min, m.max, ce), ue = ee(b(le, v, w, S)), O, k, de, fe = C, pe = ee(m.width * wl), me = !1, he = null, A = null, ge = null, j = null;
		d != null && (pe == 0 || f != null) && (me = !0, he = d.values(e, t, i, p), A = new Map(), new Set(he).forEach((e) => {
			e != null && A.set(e, new Path2D());
		}), pe > 0 && (ge = f.values(e, t, i, p), j = new Map(), new Set(ge).forEach((e) => {
			e != null && j.set(e, new Path2D());
		})));
		let { x0: _e, size: ve } = l;
		if (_e != null && ve != null) {
			T = 1, h = _e.values(e, t, i, p), _e.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = ve.values(e, t, i, p);
			k = ve.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), fe = _p(h, g, y, _, C, x, fe), de = fe - k + E;
		} else fe = _p(h, g, y, _, C, x, fe), de = fe * o + E, k = fe - de;
		de < 1 && (de = 0), pe >= k / 2 && (pe = 0), de < 5 && (ee = Eu);
		let M = de > 0, ye = fe - de - (M ? pe : 0);
		k = ee(Cu(ye, te, D)), O = (T == 0 ? k / 2 : T == ie ? 0 : k) - T * ie * ((T == 0 ? E / 2 : 0) + (M ? pe / 2 : 0));
		let be = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, xe = me ? null : new Path2D(), Se = null;
		if (se != null) Se = e.data[se.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), Se = n.values(e, t, i, p));
		}
		let Ce = ne * k, we = re * k;
		for (let n = ie == 1 ? i : p; n >= i && n <= p; n += ie) {
			let r = g[n];
			if (r == null) continue;
			if (Se != null) {
				let e = Se[n] ?? 0;
				if (r - e == 0) continue;
				ue = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(nu(r, le), v, w, S), o = ee(i - O), s = ee(mu(a, ue)), c = ee(pu(a, ue)), u = s - c;
			if (r != null) {
				let i = r < 0 ? we : Ce, a = r < 0 ? Ce : we;
				me ? (pe > 0 && ge[n] != null && ae(j.get(ge[n]), o, c + uu(pe / 2), k, mu(0, u - pe), i, a), he[n] != null && ae(A.get(he[n]), o, c + uu(pe / 2), k, mu(0, u - pe), i, a)) : ae(xe, o, c + uu(pe / 2), k, mu(0, u - pe), i, a), oe(e, t, n, o - pe / 2, c, k + pe, u);
			}
		}
		return pe > 0 ? be.stroke = me ? j : xe : me || (be._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, be.width = 0), be.fill = me ? A : xe, be;
	});
}
function yp(e, t) {
	let n = nu(t?.alignGaps, 0);
	return (t, r, i, a) => Kf(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = Kl(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = tp, S = rp, x = lp) : (b = np, S = ip, x = up);
		let C = l.dir * (l.ori == 0 ? 1 : -1), w = v(s[C == 1 ? i : a]), ee = w, T = [], E = [];
		for (let e = C == 1 ? i : a; e >= i && e <= a; e += C) if (c[e] != null) {
			let t = s[e], n = v(t);
			T.push(ee = n), E.push(y(c[e]));
		}
		let D = {
			stroke: e(T, E, b, S, x, _),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: Wf
		}, te = D.stroke, [ne, re] = qf(t, r);
		if (o.fill != null || ne != 0) {
			let e = D.fill = new Path2D(te), n = y(o.fillTo(t, r, o.min, o.max, ne));
			S(e, ee, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...Qf(s, c, i, a, C, v, n)), D.gaps = e = o.gaps(t, r, i, a, e), D.clip = Xf(e, l.ori, p, m, h, g);
		}
		return re != 0 && (D.band = re == 2 ? [Yf(t, r, i, a, te, -1), Yf(t, r, i, a, te, 1)] : Yf(t, r, i, a, te, re)), D;
	});
}
function bp(e) {
	return yp(xp, e);
}
function xp(e, t, n, r, i, a) {
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
var Sp = new Set();
function Cp() {
	for (let e of Sp) e.syncRect(!0);
}
bl && (Bl(hl, Sl, Cp), Bl(gl, Sl, Cp, !0), Bl(vl, Sl, () => {
	zp.pxRatio = wl;
}));
var wp = hp(), Tp = dp();
function Ep(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => Op(e, r, t, n));
}
function Dp(e, t) {
	return e.map((e, n) => n == 0 ? {} : Qu({}, t, e));
}
function Op(e, t, n, r) {
	return Qu({}, t == 0 ? n : r, e);
}
function kp(e, t, n) {
	return t == null ? Hu : [t, n];
}
var Ap = kp;
function jp(e, t, n) {
	return t == null ? Hu : tu(t, n, Zl, !0);
}
function Mp(e, t, n, r) {
	return t == null ? Hu : Yl(t, n, e.scales[r].log, !1);
}
var Np = Mp;
function Pp(e, t, n, r) {
	return t == null ? Hu : Xl(t, n, e.scales[r].log, !1);
}
var Fp = Pp;
function Ip(e, t, n, r, i) {
	let a = mu(Su(e), Su(t)), o = t - e, s = Hl(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? Lu.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function Lp(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = du((n = +r) * wl)) + "px"), [
		e,
		t,
		n
	];
}
function Rp(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = Iu(e[2] * wl, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function zp(e, t, n) {
	let r = { mode: nu(e.mode, 1) }, i = r.mode;
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
	let l = r.root = jl(Fc);
	if (e.id != null && (l.id = e.id), Dl(l, e.class), e.title) {
		let t = jl(Rc, l);
		t.textContent = e.title;
	}
	let u = Al("canvas"), d = r.ctx = u.getContext("2d"), f = jl(zc, l);
	Bl("click", f, (e) => {
		e.target === m && (sn != nn || cn != rn) && un.click(r, e);
	}, !0);
	let p = r.under = jl(Bc, f);
	f.appendChild(u);
	let m = r.over = jl(Vc, f);
	e = Zu(e);
	let h = +nu(e.pxAlign, 1), g = $f(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? Ep(e.series || [], yf, Rf, !1) : Dp(e.series || [null], Lf), y = r.axes = Ep(e.axes || [], gf, Mf, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = $(e.fill || null), e.dir = nu(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: Ut,
		series: Nt
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function ee(e) {
		let t = e.distr == 3 ? (t) => _u(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => bu(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
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
				n = b[t] = Qu({}, t == S ? Bf : Vf, r), n.key = t;
				let e = n.time, a = n.range, o = Uu(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? Ql : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? Ql : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && qu(a))) {
					let e = a;
					a = (t, n, r) => n == null ? Hu : tu(n, r, e);
				}
				n.range = $(a || (e ? Ap : t == S ? n.distr == 3 ? Np : n.distr == 4 ? Fp : kp : n.distr == 3 ? Mp : n.distr == 4 ? Pp : jp)), n.auto = $(!o && n.auto), n.clamp = $(n.clamp || zf), n._min = n._max = null, n.valToPct = ee(n);
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
	E.ori == 0 ? (Dl(l, Ic), te = a, ne = o) : (Dl(l, Lc), te = o, ne = a);
	let re = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (re[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let ie = e.tzDate || ((e) => new Date(du(e / _))), ae = e.fmtDate || gd, oe = _ == 1 ? zd(ie) : Hd(ie), se = Wd(ie, Ud(_ == 1 ? Rd : Vd, ae)), ce = Yd(ie, qd(Jd, ae)), le = [], ue = r.legend = Qu({}, Qd, e.legend), O = r.cursor = Qu({}, cf, { drag: { y: i == 2 } }, e.cursor), k = ue.show, de = O.show, fe = ue.markers;
	ue.idxs = le, fe.width = $(fe.width), fe.dash = $(fe.dash), fe.stroke = $(fe.stroke), fe.fill = $(fe.fill);
	let pe, me, he, A = [], ge = [], j, _e = !1, ve = {};
	if (ue.live) {
		let e = v[1] ? v[1].values : null;
		_e = e != null, j = _e ? e(r, 1, 0) : { _: 0 };
		for (let e in j) ve[e] = yl;
	}
	if (k) {
		if (pe = Al("table", Jc, l), he = Al("tbody", null, pe), ue.mount(r, pe), _e) {
			me = Al("thead", null, pe, he);
			let e = Al("tr", null, me);
			for (var M in Al("th", null, e), j) Al("th", $c, e).textContent = M;
		} else Dl(pe, Xc), ue.live && Dl(pe, Yc);
	}
	let ye = { show: !0 }, be = { show: !1 };
	function xe(e, t) {
		if (t == 0 && (_e || !ue.live || i == 2)) return Hu;
		let n = [], a = Al("tr", Zc, he, he.childNodes[t]);
		Dl(a, e.class), e.show || Dl(a, Uc);
		let o = Al("th", null, a);
		if (fe.show) {
			let e = jl(Qc, o);
			if (t > 0) {
				let n = fe.width(r, t);
				n && (e.style.border = n + "px " + fe.dash(r, t) + " " + fe.stroke(r, t)), e.style.background = fe.fill(r, t);
			}
		}
		let s = jl($c, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (fe.show || (s.style.color = e.width > 0 ? fe.stroke(r, t) : fe.fill(r, t)), Ce("click", o, (t) => {
			if (O._lock) return;
			Ye(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != ue.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && _n(r, e ? r == n ? ye : be : ye, !0, er.setSeries);
				});
			} else _n(n, { show: !e.show }, !0, er.setSeries);
		}, !1), Qe && Ce(fl, o, (t) => {
			O._lock || (Ye(t), _n(v.indexOf(e), Tn, !0, er.setSeries));
		}, !1)), j) {
			let e = Al("td", el, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let Se = new Map();
	function Ce(e, t, n, i = !0) {
		let a = Se.get(t) || {}, o = O.bind[e](r, t, n, i);
		o && (Bl(e, t, a[e] = o), Se.set(t, a));
	}
	function we(e, t, n) {
		let r = Se.get(t) || {};
		for (let n in r) (e == null || n == e) && (Vl(n, t, r[n]), delete r[n]);
		e ?? Se.delete(t);
	}
	let Te = 0, Ee = 0, N = 0, P = 0, De = 0, Oe = 0, ke = De, Ae = Oe, je = N, Me = P, Ne = 0, Pe = 0, Fe = 0, Ie = 0;
	r.bbox = {};
	let Le = !1, Re = !1, ze = !1, Be = !1, Ve = !1, He = !1;
	function Ue(e, t, n) {
		(n || e != r.width || t != r.height) && We(e, t), Wt(!1), ze = !0, Re = !0, Yt();
	}
	function We(e, t) {
		r.width = Te = N = e, r.height = Ee = P = t, De = Oe = 0, qe(), Je();
		let n = r.bbox;
		Ne = n.left = Nu(De * wl, .5), Pe = n.top = Nu(Oe * wl, .5), Fe = n.width = Nu(N * wl, .5), Ie = n.height = Nu(P * wl, .5);
	}
	function Ge() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = Vt(t), i = Ht(t);
			e = t == 3 || n && i, e || (We(r.width, r.height), Re = !0);
		}
	}
	function Ke({ width: e, height: t }) {
		Ue(e, t);
	}
	r.setSize = Ke;
	function qe() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (N -= c, a == 3 ? (De += c, r = !0) : n = !0) : (P -= c, a == 0 ? (Oe += c, e = !0) : t = !0));
			}
		}), ot[0] = e, ot[1] = n, ot[2] = t, ot[3] = r, N -= ut[1] + ut[3], De += ut[3], P -= ut[2] + ut[0], Oe += ut[0];
	}
	function Je() {
		let e = De + N, t = Oe + P, n = De, r = Oe;
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
	if (O.dataIdx == null) {
		let e = O.hover, n = e.skip = new Set(e.skip ?? []);
		n.add(void 0);
		let r = e.prox = $(e.prox), i = e.bias ??= 0;
		O.dataIdx = (e, a, o, s) => {
			if (a == 0) return o;
			let c = o, l = r(e, a, o, s) ?? xu, u = l >= 0 && l < xu, d = E.ori == 0 ? N : P, f = O.left, p = t[0], m = t[a];
			if (n.has(m[o])) {
				c = null;
				let e = null, t = null, r;
				if (i == 0 || i == -1) for (r = o; e == null && r-- > 0;) n.has(m[r]) || (e = r);
				if (i == 0 || i == 1) for (r = o; t == null && r++ < m.length;) n.has(m[r]) || (t = r);
				if (e != null || t != null) {
					if (u) {
						let n = e == null ? -Infinity : te(p[e], E, d, 0), r = t == null ? Infinity : te(p[t], E, d, 0), i = f - n, a = r - f;
						i <= a ? i <= l && (c = e) : a <= l && (c = t);
					} else c = t == null ? e : e == null ? t : o - e <= t - o ? e : t;
				}
			} else u && lu(f - te(p[o], E, d, 0)) > l && (c = null);
			return c;
		};
	}
	let Ye = (e) => {
		O.event = e;
	};
	O.idxs = le, O._lock = !1;
	let Xe = O.points;
	Xe.show = $(Xe.show), Xe.size = $(Xe.size), Xe.stroke = $(Xe.stroke), Xe.width = $(Xe.width), Xe.fill = $(Xe.fill);
	let Ze = r.focus = Qu({}, e.focus || { alpha: .3 }, O.focus), Qe = Ze.prox >= 0, $e = Qe && Xe.one, et = [], tt = [], nt = [];
	function rt(e, t) {
		let n = Xe.show(r, t);
		if (n instanceof HTMLElement) return Dl(n, qc), Dl(n, e.class), Nl(n, -10, -10, N, P), m.insertBefore(n, et[t]), n;
	}
	function it(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? Ku(n) ? Yd(ie, qd(n, ae)) : n || ce : n || jf, e.label = e.label || (t ? vf : _f);
		}
		if ($e || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || wp || Ou, e.fillTo = $(e.fillTo || Jf), e.pxAlign = +nu(e.pxAlign, h), e.pxRound = $f(e.pxAlign), e.stroke = $(e.stroke || null), e.fill = $(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = Nf(mu(1, e.width), 1), n = e.points = Qu({}, {
				size: t,
				width: mu(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: Tp,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = $(n.show), n.filter = $(n.filter), n.fill = $(n.fill), n.stroke = $(n.stroke), n.paths = $(n.paths), n.pxAlign = e.pxAlign;
		}
		if (k) {
			let n = xe(e, t);
			A.splice(t, 0, n[0]), ge.splice(t, 0, n[1]), ue.values.push(null);
		}
		if (de) {
			le.splice(t, 0, null);
			let n = null;
			$e ? t == 0 && (n = rt(e, t)) : t > 0 && (n = rt(e, t)), et.splice(t, 0, n), tt.splice(t, 0, 0), nt.splice(t, 0, 0);
		}
		Qn("addSeries", t);
	}
	function F(e, t) {
		t ??= v.length, e = i == 1 ? Op(e, t, yf, Rf) : Op(e, t, {}, Lf), v.splice(t, 0, e), it(v[t], t);
	}
	r.addSeries = F;
	function at(e) {
		if (v.splice(e, 1), k) {
			ue.values.splice(e, 1), ge.splice(e, 1);
			let t = A.splice(e, 1)[0];
			we(null, t.firstChild), t.remove();
		}
		de && (le.splice(e, 1), et.splice(e, 1)[0].remove(), tt.splice(e, 1), nt.splice(e, 1)), Qn("delSeries", e);
	}
	r.delSeries = at;
	let ot = [
		!1,
		!1,
		!1,
		!1
	];
	function st(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = $(e.size), e.space = $(e.space), e.rotate = $(e.rotate), Uu(e.incrs) && e.incrs.forEach((e) => {
				!Lu.has(e) && Lu.set(e, Ru(e));
			}), e.incrs = $(e.incrs || (i.distr == 2 ? Cd : a ? _ == 1 ? Ld : Bd : wd)), e.splits = $(e.splits || (a && i.distr == 1 ? oe : i.distr == 3 ? Sf : i.distr == 4 ? Cf : xf)), e.stroke = $(e.stroke), e.grid.stroke = $(e.grid.stroke), e.ticks.stroke = $(e.ticks.stroke), e.border.stroke = $(e.border.stroke);
			let o = e.values;
			e.values = Uu(o) && !Uu(o[0]) ? $(o) : a ? Uu(o) ? Wd(ie, Ud(o, ae)) : Ku(o) ? Gd(ie, o) : o || se : o || bf, e.filter = $(e.filter || (i.distr >= 3 && i.log == 10 ? kf : i.distr == 3 && i.log == 2 ? Af : Du)), e.font = Lp(e.font), e.labelFont = Lp(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && (ot[t] = !0, e._el = jl(Hc, f));
		}
	}
	function ct(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? du(gf.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? du(Mf.size / 2) : 0), l;
	}
	let lt = r.padding = (e.padding || [
		ct,
		ct,
		ct,
		ct
	]).map((e) => $(nu(e, ct))), ut = r._padding = lt.map((e, t) => e(r, t, ot, 0)), dt, I = null, ft = null, pt = i == 1 ? v[0].idxs : null, mt = null, ht = !1;
	function gt(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			dt = 0;
			for (let e = 1; e < v.length; e++) dt += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), mt = t[0], dt = mt.length;
			let e = t;
			if (D == 2) {
				e = t.slice();
				let n = e[0] = Array(dt);
				for (let e = 0; e < dt; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (Wt(!0), Qn("setData"), D == 2 && (ze = !0), n !== !1) {
			let e = E;
			e.auto(r, ht) ? _t() : H(S, e.min, e.max), Be ||= O.left >= 0, He = !0, Yt();
		}
	}
	r.setData = gt;
	function _t() {
		ht = !0;
		let e, n;
		i == 1 && (dt > 0 ? (I = pt[0] = 0, ft = pt[1] = dt - 1, e = t[0][I], n = t[0][ft], D == 2 ? (e = I, n = ft) : e == n && (D == 3 ? [e, n] = Yl(e, e, E.log, !1) : D == 4 ? [e, n] = Xl(e, e, E.log, !1) : E.time ? n = e + du(86400 / _) : [e, n] = tu(e, n, Zl, !0))) : (I = pt[0] = e = null, ft = pt[1] = n = null)), H(S, e, n);
	}
	let vt, yt, bt, xt, St, Ct, wt, Tt, Et, Dt;
	function Ot(e, t, n, r, i, a) {
		e ??= cl, n ??= Vu, r ??= "butt", i ??= cl, a ??= "round", e != vt && (d.strokeStyle = vt = e), i != yt && (d.fillStyle = yt = i), t != bt && (d.lineWidth = bt = t), a != St && (d.lineJoin = St = a), r != Ct && (d.lineCap = Ct = r), n != xt && d.setLineDash(xt = n);
	}
	function kt(e, t, n, r) {
		t != yt && (d.fillStyle = yt = t), e != wt && (d.font = wt = e), n != Tt && (d.textAlign = Tt = n), r != Et && (d.textBaseline = Et = r);
	}
	function At(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, ht) && (t == null || t.min == null)) {
			let t = nu(I, 0), r = nu(ft, i.length - 1), o = n.min == null ? Jl(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = pu(e.min, n.min = o[0]), e.max = mu(e.max, n.max = o[1]);
		}
	}
	let jt = {
		min: null,
		max: null
	};
	function Mt() {
		for (let e in b) {
			let t = b[e];
			re[e] == null && (t.min == null || re[S] != null && t.auto(r, ht)) && (re[e] = jt);
		}
		for (let e in b) {
			let t = b[e];
			re[e] == null && t.from != null && re[t.from] != null && (re[e] = jt);
		}
		re[S] != null && Wt(!0);
		let e = {};
		for (let t in re) {
			let n = re[t];
			if (n != null) {
				let a = e[t] = Zu(b[t], Ju);
				if (n.min != null) Qu(a, n);
				else if (t != S || i == 2) {
					if (dt == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = xu, a.max = -Infinity;
				}
			}
		}
		if (dt > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = re[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], I = Hl(s.min, t[0]), ft = Hl(s.max, t[0]), ft - I > 1 && (t[0][I] < s.min && I++, t[0][ft] > s.max && ft--), n.min = mt[I], n.max = mt[ft];
					} else n.show && n.auto && At(s, o, n, t[a], n.sorted);
					n.idxs[0] = I, n.idxs[1] = ft;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && At(u, re[o], r, c, r.sorted), d != null && At(d, re[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = re[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == xu ? null : n.min, n.max == -Infinity ? null : n.max, t);
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
				i._min = e == 3 ? _u(i.min) : e == 4 ? bu(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? _u(i.max) : e == 4 ? bu(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) ze = !0, Qn("setScale", e);
			de && O.left >= 0 && (Be = He = !0);
		}
		for (let e in re) re[e] = null;
	}
	function L(e) {
		let t = Cu(I - 1, 0, dt - 1), n = Cu(ft + 1, 0, dt - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < dt - 1;) n++;
		return [t, n];
	}
	function Nt() {
		if (dt > 0) {
			let e = v.some((e) => e._focus) && Dt != Ze.alpha;
			e && (d.globalAlpha = Dt = Ze.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (R(n, !1), R(n, !0), e._paths == null)) {
					let a = Dt;
					Dt != e.alpha && (d.globalAlpha = Dt = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : L(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), Dt != a && (d.globalAlpha = Dt = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = Dt;
					Dt != e.alpha && (d.globalAlpha = Dt = e.alpha), e._paths != null && Pt(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, I, ft, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, I, ft, a), Pt(t, !0));
					}
					Dt != n && (d.globalAlpha = Dt = n), Qn("drawSeries", t);
				}
			}), e && (d.globalAlpha = Dt = 1);
		}
	}
	function R(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function Pt(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = Iu(l * wl, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = Ne - l / 2, t = Pe - l / 2, n = Fe + l, r = Ie + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? It(s, l, n.dash, n.cap, c, r, i, o, a) : Ft(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function Ft(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || Bu).band;
				Uu(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && ru(g, I, ft) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, It(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || It(n, i, a, o, s, c, l, u, d, f);
	}
	function It(e, t, n, r, i, a, o, s, c, l, u, f) {
		Ot(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), Rt(i, o), Lt(e, a, t)) : s & Gf ? (Rt(i, o), d.clip(f), Lt(e, a, t)) : s & Wf && (d.save(), d.clip(f), u && d.clip(u), Rt(i, o), d.restore(), Lt(e, a, t)) : (Rt(i, o), Lt(e, a, t)), (c || l || f) && d.restore();
	}
	function Lt(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = vt = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function Rt(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = yt = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function zt(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = Ip(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function Bt(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), Ot(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function Vt(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, Wt(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, Wt(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = zt(i, c, l, s == 0 ? N : P);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => mt[e]) : p, h = a.distr == 2 ? mt[p[1]] - mt[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = fu(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Ht(e) {
		let t = !0;
		return lt.forEach((n, i) => {
			let a = n(r, i, ot, e);
			a != ut[i] && (t = !1), ut[i] = a;
		}), t;
	}
	function Ut() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = du((t._lpos + s) * wl);
				kt(t.labelFont[0], c, "center", n == 2 ? rl : il), d.save(), i == 1 ? (a = o = 0, d.translate(p, du(Pe + Ie / 2)), d.rotate((n == 3 ? -cu : cu) / 2)) : (a = du(Ne + Fe / 2), o = p);
				let m = wu(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? Fe : Ie, h = i == 0 ? Ne : Pe, _ = t._splits, v = p.distr == 2 ? _.map((e) => mt[e]) : _, x = p.distr == 2 ? mt[_[1]] - mt[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, ee = du(w * wl), T = du((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * wl), E = t._rotate * -cu / 180, D = g(t._pos * wl), te = D + (ee + T) * l;
			o = i == 0 ? te : 0, a = i == 1 ? te : 0;
			let ne = t.font[0];
			kt(ne, c, t.align == 1 ? al : t.align == 2 ? ol : E > 0 ? al : E < 0 ? ol : i == 0 ? "center" : n == 3 ? ol : al, E || i == 1 ? "middle" : n == 2 ? rl : il);
			let re = t.font[1] * t.lineGap, ie = _.map((e) => g(s(e, p, m, h))), ae = t._values;
			for (let e = 0; e < ae.length; e++) {
				let t = ae[e];
				if (t != null) {
					i == 0 ? a = ie[e] : o = ie[e], t = "" + t;
					let n = t.indexOf("\n") == -1 ? [t] : t.split(/\n/gm);
					for (let e = 0; e < n.length; e++) {
						let t = n[e];
						E ? (d.save(), d.translate(a, o + e * re), d.rotate(E), d.fillText(t, 0, 0), d.restore()) : d.fillText(t, a, o + e * re);
					}
				}
			}
			S.show && Bt(ie, S.filter(r, v, e, f, x), i, n, D, ee, Iu(S.width * wl, 3), S.stroke(r, e), S.dash, S.cap);
			let oe = t.grid;
			oe.show && Bt(ie, oe.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? Pe : Ne, i == 0 ? Ie : Fe, Iu(oe.width * wl, 3), oe.stroke(r, e), oe.dash, oe.cap), C.show && Bt([D], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? Pe : Ne, i == 1 ? Ie : Fe, Iu(C.width * wl, 3), C.stroke(r, e), C.dash, C.cap);
		}
		Qn("drawAxes");
	}
	function Wt(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Gt = !1, Kt = !1, qt = [];
	function Jt() {
		Kt = !1;
		for (let e = 0; e < qt.length; e++) Qn(...qt[e]);
		qt.length = 0;
	}
	function Yt() {
		Gt ||= (id(Zt), !0);
	}
	function Xt(e, t = !1) {
		Gt = !0, Kt = t, e(r), Zt(), t && qt.length > 0 && queueMicrotask(Jt);
	}
	r.batch = Xt;
	function Zt() {
		if (Le &&= (Mt(), !1), ze &&= (Ge(), !1), Re) {
			if (kl(p, al, De), kl(p, rl, Oe), kl(p, tl, N), kl(p, nl, P), kl(m, al, De), kl(m, rl, Oe), kl(m, tl, N), kl(m, nl, P), kl(f, tl, Te), kl(f, nl, Ee), u.width = du(Te * wl), u.height = du(Ee * wl), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						kl(e, a ? "left" : "top", r - t), kl(e, a ? "width" : "height", n), kl(e, a ? "top" : "left", a ? Oe : De), kl(e, a ? "height" : "width", a ? P : N), Ol(e, Uc);
					} else Dl(e, Uc);
				}
			}), vt = yt = bt = St = Ct = wt = Tt = Et = xt = null, Dt = 1, In(!0), De != ke || Oe != Ae || N != je || P != Me) {
				Wt(!1);
				let e = N / je, t = P / Me;
				if (de && !Be && O.left >= 0) {
					O.left *= e, O.top *= t, V && Nl(V, du(O.left), 0, N, P), $t && Nl($t, 0, du(O.top), N, P);
					for (let n = 0; n < et.length; n++) {
						let r = et[n];
						r != null && (tt[n] *= e, nt[n] *= t, Nl(r, fu(tt[n]), fu(nt[n]), N, P));
					}
				}
				if (pn.show && !Ve && pn.left >= 0 && pn.width > 0) {
					pn.left *= e, pn.width *= e, pn.top *= t, pn.height *= t;
					for (let e in zn) kl(mn, e, pn[e]);
				}
				ke = De, Ae = Oe, je = N, Me = P;
			}
			Qn("setSize"), Re = !1;
		}
		Te > 0 && Ee > 0 && (d.clearRect(0, 0, u.width, u.height), Qn("drawClear"), w.forEach((e) => e()), Qn("draw")), pn.show && Ve && (hn(pn), Ve = !1), de && Be && (W(null, !0, !1), Be = !1), ue.show && ue.live && He && (Nn(), He = !1), c || (c = !0, r.status = 1, Qn("ready")), ht = !1, Gt = !1;
	}
	r.redraw = (e, t) => {
		ze = t || !1, e === !1 ? Yt() : H(S, E.min, E.max);
	};
	function z(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (dt == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (dt > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && dt > 0 && (n.min = Hl(n.min, t[0]), n.max = Hl(n.max, t[0]), n.min == n.max && n.max++), re[e] = n, Le = !0, Yt();
		}
	}
	r.setScale = z;
	let Qt, B, V, $t, en, tn, nn, rn, an, on, sn, cn, ln = !1, un = O.drag, dn = un.x, fn = un.y;
	de && (O.x && (Qt = jl(Gc, m)), O.y && (B = jl(Kc, m)), E.ori == 0 ? (V = Qt, $t = B) : (V = B, $t = Qt), sn = O.left, cn = O.top);
	let pn = r.select = Qu({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), mn = pn.show ? jl(Wc, pn.over ? m : p) : null;
	function hn(e, t) {
		if (pn.show) {
			for (let t in e) pn[t] = e[t], t in zn && kl(mn, t, e[t]);
			t !== !1 && Qn("setSelect");
		}
	}
	r.setSelect = hn;
	function gn(e) {
		if (v[e].show) k && Ol(A[e], Uc);
		else if (k && Dl(A[e], Uc), de) {
			let t = $e ? et[0] : et[e];
			t != null && Nl(t, -10, -10, N, P);
		}
	}
	function H(e, t, n) {
		z(e, {
			min: t,
			max: n
		});
	}
	function _n(e, t, n, a) {
		t.focus != null && En(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, gn(r), i == 2 ? (H(n.facets[0].scale, null, null), H(n.facets[1].scale, null, null)) : H(n.scale, null, null), Yt());
		}), n !== !1 && Qn("setSeries", e, t), a && nr("setSeries", r, e, t);
	}
	r.setSeries = _n;
	function vn(e, t) {
		Qu(x[e], t);
	}
	function yn(e, t) {
		e.fill = $(e.fill || null), e.dir = nu(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}
	function bn(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	}
	r.addBand = yn, r.setBand = vn, r.delBand = bn;
	function xn(e, t) {
		v[e].alpha = t, de && et[e] != null && (et[e].style.opacity = t), k && A[e] && (A[e].style.opacity = t);
	}
	let Sn, Cn, wn, Tn = { focus: !0 };
	function En(e) {
		if (e != wn) {
			let t = e == null, n = Ze.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && xn(a, i ? 1 : Ze.alpha);
				}
			}), wn = e, n && Yt();
		}
	}
	k && Qe && Ce(pl, pe, (e) => {
		O._lock || (Ye(e), wn != null && _n(null, Tn, !0, er.setSeries));
	});
	function Dn(e, t, n) {
		let r = b[t];
		n && (e = e / wl - (r.ori == 1 ? Oe : De));
		let i = N;
		r.ori == 1 && (i = P, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? hu(10, c) : l == 4 ? yu(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	function On(e, n) {
		return Hl(Dn(e, S, n), t[0], I, ft);
	}
	r.valToIdx = (e) => Hl(e, t[0]), r.posToIdx = On, r.posToVal = Dn, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? Fe : N, n ? Ne : 0) : o(e, b[t], n ? Ie : P, n ? Pe : 0), r.setCursor = (e, t, n) => {
		sn = e.left, cn = e.top, W(null, t, n);
	};
	function kn(e, t) {
		kl(mn, al, pn.left = e), kl(mn, tl, pn.width = t);
	}
	function An(e, t) {
		kl(mn, rl, pn.top = e), kl(mn, nl, pn.height = t);
	}
	let jn = E.ori == 0 ? kn : An, Mn = E.ori == 1 ? kn : An;
	function U() {
		if (k && ue.live) for (let e = +(i == 2); e < v.length; e++) {
			if (e == 0 && _e) continue;
			let t = ue.values[e], n = 0;
			for (let r in t) ge[e][n++].firstChild.nodeValue = t[r];
		}
	}
	function Nn(e, t) {
		if (e != null && (e.idxs ? e.idxs.forEach((e, t) => {
			le[t] = e;
		}) : Gu(e.idx) || le.fill(e.idx), ue.idx = le[0]), k && ue.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !_e) && Pn(e, le[e]);
			U();
		}
		He = !1, t !== !1 && Qn("setLegend");
	}
	r.setLegend = Nn;
	function Pn(e, n) {
		let i = v[e], a = e == 0 && D == 2 ? mt : t[e], o;
		_e ? o = i.values(r, e, n) ?? ve : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? ve : { _: o }), ue.values[e] = o;
	}
	function W(e, n, a) {
		an = sn, on = cn, [sn, cn] = O.move(r, sn, cn), O.left = sn, O.top = cn, de && (V && Nl(V, du(sn), 0, N, P), $t && Nl($t, 0, du(cn), N, P));
		let o, s = I > ft;
		Sn = xu, Cn = null;
		let c = E.ori == 0 ? N : P, l = E.ori == 1 ? N : P;
		if (sn < 0 || dt == 0 || s) {
			o = O.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = et[e];
				t != null && Nl(t, -10, -10, N, P);
			}
			Qe && _n(null, Tn, !0, e == null && er.setSeries), ue.live && (le.fill(o), He = !0);
		} else {
			let e, n, a;
			i == 1 && (e = E.ori == 0 ? sn : cn, n = Dn(e, S), o = O.idx = Hl(n, t[0], I, ft), a = te(t[0][o], E, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = le[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = O.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (He = He || S != y || x != _, le[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : te(i == 1 ? t[0][x] : t[e][0][x], E, c, 0), _ = S == null ? -10 : ne(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if (Qe && S != null) {
						let t = E.ori == 1 ? sn : cn, n = lu(Ze.dist(r, e, x, _, t));
						if (n < Sn) {
							let r = Ze.bias;
							if (r != 0) {
								let i = Dn(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (Sn = n, Cn = e);
							} else Sn = n, Cn = e;
						}
					}
					if (He || $e) {
						let t, i;
						E.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = Xe.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = Xe.size(r, e);
						if (v = Xe.fill(r, e), g = Xe.stroke(r, e), $e) e == Cn && Sn <= Ze.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = et[e];
							t != null && (tt[e] = c, nt[e] = l, Ll(t, a, o, y), Fl(t, v, g), Nl(t, fu(c), fu(l), N, P));
						}
					}
				}
			}
			if ($e) {
				let e = Ze.prox;
				if (He || (wn == null ? Sn <= e : Sn > e || Cn != wn)) {
					let e = et[0];
					e != null && (tt[0] = s, nt[0] = u, Ll(e, d, f, p), Fl(e, m, h), Nl(e, fu(s), fu(u), N, P));
				}
			}
		}
		if (pn.show && ln) {
			if (e != null) {
				let [t, n] = er.scales, [r, i] = er.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (dn = s._x, fn = s._y, dn || fn) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && dn ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = te(m(h, a), _, c, 0), y = te(m(h + g, a), _, c, 0), jn(pu(v, y), lu(y - v))) : jn(0, c), S && fn ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = ne(m(h, o), _, l, 0), y = ne(m(h + g, o), _, l, 0), Mn(pu(v, y), lu(y - v))) : Mn(0, l);
				} else Bn();
			} else {
				let e = lu(an - en), t = lu(on - tn);
				if (E.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				dn = un.x && e >= un.dist, fn = un.y && t >= un.dist;
				let n = un.uni;
				n == null ? un.x && un.y && (dn || fn) && (dn = fn = !0) : dn && fn && (dn = e >= n, fn = t >= n, !dn && !fn && (t > e ? fn = !0 : dn = !0));
				let r, i;
				dn && (E.ori == 0 ? (r = nn, i = sn) : (r = rn, i = cn), jn(pu(r, i), lu(i - r)), fn || Mn(0, l)), fn && (E.ori == 1 ? (r = nn, i = sn) : (r = rn, i = cn), Mn(pu(r, i), lu(i - r)), dn || jn(0, c)), !dn && !fn && (jn(0, 0), Mn(0, 0));
			}
		}
		if (un._x = dn, un._y = fn, e == null) {
			if (a) {
				if (G != null) {
					let [e, t] = er.scales;
					er.values[0] = e == null ? null : Dn(E.ori == 0 ? sn : cn, e), er.values[1] = t == null ? null : Dn(E.ori == 1 ? sn : cn, t);
				}
				nr(ll, r, sn, cn, N, P, o);
			}
			if (Qe) {
				let e = a && er.setSeries, t = Ze.prox;
				wn == null ? Sn <= t && _n(Cn, Tn, !0, e) : Sn > t ? _n(null, Tn, !0, e) : Cn != wn && _n(Cn, Tn, !0, e);
			}
		}
		He && (ue.idx = o, Nn()), n !== !1 && Qn("setCursor");
	}
	let Fn = null;
	Object.defineProperty(r, "rect", { get() {
		return Fn ?? In(!1), Fn;
	} });
	function In(e = !1) {
		e ? Fn = null : (Fn = m.getBoundingClientRect(), Qn("syncRect", Fn));
	}
	function Ln(e, t, n, r, i, a, o) {
		O._lock || ln && e != null && e.movementX == 0 && e.movementY == 0 || (Rn(e, t, n, r, i, a, o, !1, e != null), e == null ? W(t, !0, !1) : W(null, !0, !0));
	}
	function Rn(e, t, n, i, a, o, c, l, u) {
		if (Fn ?? In(!1), Ye(e), e != null) n = e.clientX - Fn.left, i = e.clientY - Fn.top;
		else {
			if (n < 0 || i < 0) {
				sn = -10, cn = -10;
				return;
			}
			let [e, r] = er.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = er.match, h = t.axes[0].side % 2 == 1, g = E.ori == 0 ? N : P, _ = E.ori == 1 ? N : P, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, E.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == ll) && ((n <= 1 || n >= N - 1) && (n = Nu(n, N)), (i <= 1 || i >= P - 1) && (i = Nu(i, P))), l ? (en = n, tn = i, [nn, rn] = O.move(r, n, i)) : (sn = n, cn = i);
	}
	let zn = {
		width: 0,
		height: 0,
		left: 0,
		top: 0
	};
	function Bn() {
		hn(zn, !1);
	}
	let Vn, Hn, Un, Wn;
	function Gn(e, t, n, i, a, o, s) {
		ln = !0, dn = fn = un._x = un._y = !1, Rn(e, t, n, i, a, o, s, !0, !1), e != null && (Ce(dl, xl, Kn, !1), nr(ul, r, nn, rn, N, P, null));
		let { left: c, top: l, width: u, height: d } = pn;
		Vn = c, Hn = l, Un = u, Wn = d;
	}
	function Kn(e, t, n, i, a, o, s) {
		ln = un._x = un._y = !1, Rn(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = pn, f = u > 0 || d > 0, p = Vn != c || Hn != l || Un != u || Wn != d;
		if (f && p && hn(pn), un.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (E.ori == 1 && (e = l, t = d, n = c, r = u), dn && H(S, Dn(e, S), Dn(e + t, S)), fn) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != xu && H(e, Dn(n + r, e), Dn(n, e));
			}
			Bn();
		} else O.lock && (O._lock = !O._lock, W(t, !0, e != null));
		e != null && (we(dl, xl), nr(dl, r, sn, cn, N, P, null));
	}
	function qn(e, t, n, r, i, a, o) {
		if (O._lock) return;
		Ye(e);
		let s = ln;
		if (ln) {
			let e = !0, t = !0, n, r;
			E.ori == 0 ? (n = dn, r = fn) : (n = fn, r = dn), n && r && (e = sn <= 10 || sn >= N - 10, t = cn <= 10 || cn >= P - 10), n && e && (sn = sn < nn ? 0 : N), r && t && (cn = cn < rn ? 0 : P), W(null, !0, !0), ln = !1;
		}
		sn = -10, cn = -10, le.fill(null), W(null, !0, !0), s && (ln = s);
	}
	function Jn(e, t, n, i, a, o, s) {
		O._lock || (Ye(e), _t(), Bn(), e != null && nr(ml, r, sn, cn, N, P, null));
	}
	function Yn() {
		y.forEach(Rp), Ue(r.width, r.height, !0);
	}
	Bl(vl, Sl, Yn);
	let Xn = {};
	Xn.mousedown = Gn, Xn.mousemove = Ln, Xn.mouseup = Kn, Xn.dblclick = Jn, Xn.setSeries = (e, t, n, i) => {
		let a = er.match[2];
		n = a(r, t, n), n != -1 && _n(n, i, !0, !1);
	}, de && (Ce(ul, m, Gn), Ce(ll, m, Ln), Ce(fl, m, (e) => {
		Ye(e), In(!1);
	}), Ce(pl, m, qn), Ce(ml, m, Jn), Sp.add(r), r.syncRect = In);
	let Zn = r.hooks = e.hooks || {};
	function Qn(e, t, n) {
		Kt ? qt.push([
			e,
			t,
			n
		]) : e in Zn && Zn[e].forEach((e) => {
			e.call(null, r, t, n);
		});
	}
	(e.plugins || []).forEach((e) => {
		for (let t in e.hooks) Zn[t] = (Zn[t] || []).concat(e.hooks[t]);
	});
	let $n = (e, t, n) => n, er = Qu({
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
			$n
		],
		values: [null, null]
	}, O.sync);
	er.match.length == 2 && er.match.push($n), O.sync = er;
	let G = er.key, tr = Uf(G);
	function nr(e, t, n, r, i, a, o) {
		er.filters.pub(e, t, n, r, i, a, o) && tr.pub(e, t, n, r, i, a, o);
	}
	tr.sub(r);
	function rr(e, t, n, r, i, a, o) {
		er.filters.sub(e, t, n, r, i, a, o) && Xn[e](null, t, n, r, i, a, o);
	}
	r.pub = rr;
	function ir() {
		tr.unsub(r), Sp.delete(r), Se.clear(), Vl(vl, Sl, Yn), l.remove(), pe?.remove(), Qn("destroy");
	}
	r.destroy = ir;
	function ar() {
		Qn("init", e, t), gt(t || e.data, !1), re[S] ? z(S, re[S]) : _t(), Ve = pn.show && (pn.width > 0 || pn.height > 0), Be = He = !0, Ue(e.width, e.height);
	}
	return v.forEach(it), y.forEach(st), n ? n instanceof HTMLElement ? (n.appendChild(l), ar()) : n(r, ar) : ar(), r;
}
zp.assign = Qu, zp.fmtNum = ou, zp.rangeNum = tu, zp.rangeLog = Yl, zp.rangeAsinh = Xl, zp.orient = Kf, zp.pxRatio = wl, zp.join = rd, zp.fmtDate = gd, zp.tzDate = vd, zp.sync = Uf;
{
	zp.addGap = Zf, zp.clipGaps = Xf;
	let e = zp.paths = { points: dp };
	e.linear = hp, e.stepped = gp, e.bars = vp, e.spline = bp;
}
// src/roles.ts
var Bp = /^(f16|bf16|f32|f64)\[/;
function Vp(e) {
	let t = e.type ?? "", n = e.name.toLowerCase();
	if (t === "binary") return "bytes";
	if (Qs(t) || /^(date|timestamp|duration)/.test(t)) return "number";
	if (t === "utf8" || t === "categorical") return "text";
	let r = /\[([\d,?]*)\]$/.exec(t)?.[1].split(",") ?? [];
	if (Bp.test(t)) {
		if (r.length === 2 && /^[34]$/.test(r[0]) && r[1] === "4" || r.length === 1 && r[0] === "3" && /position|translation|xyz|location/.test(n)) return "pose";
		let e = Number(r[1]);
		if (r.length === 2 && e >= 7 && e <= 10 && /box|cuboid|object|annotation/.test(n)) return "boxes";
		if (r.length === 2 && e >= 3 && e <= 10 && /point|lidar|sweep|cloud|radar|xyz/.test(n)) return "points";
	}
	return /\[[\d,?]+\]$/.test(t) ? "tensor" : "other";
}
// src/along.ts
var Hp = 6;
function Up(e, t) {
	if (e == null) return null;
	let n = t === "bf16" ? oc(Number(e)) : Number(e);
	return Number.isFinite(n) ? n : null;
}
function Wp(e, t) {
	let n = e.rows.map((e) => e ?? 0), r = {
		rows: n,
		plots: [],
		paths: []
	}, i = new Map();
	for (let a of t) {
		if (!e.types.has(a.name)) continue;
		if (Vp(a) === "pose") {
			let t = n.flatMap((t, n) => {
				let r = cc(e.value(a.name, n), a.type ?? "");
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
		let t = n.map((t, n) => Up(e.value(a.name, n), a.type)), o = {
			name: a.name,
			type: a.type,
			unit: a.unit,
			isFlag: a.type === "bool",
			values: t
		}, s = a.unit ?? a.name;
		i.has(s) || i.set(s, []), i.get(s).push(o);
	}
	return r.plots = [...i.values()].slice(0, Hp), r;
}
// src/Plot.svelte
var Gp = K("<span><i></i> <b> </b></span>"), Kp = K("<figure class=\"plot\"><div class=\"canvas\"></div> <figcaption></figcaption></figure>");
function qp(e, t) {
	Fe(t, !0);
	let n = L(void 0), r = L(null), i = [
		"--line-1",
		"--line-2",
		"--line-3",
		"--line-4",
		"--line-5",
		"--line-6"
	], a = matchMedia("(prefers-color-scheme: dark)"), o = F(() => t.series.every((e) => e.isFlag) ? 66 : 116), s = L(Vt(a.matches));
	dn(() => {
		let e = () => R(s, a.matches, !0);
		return a.addEventListener("change", e), () => a.removeEventListener("change", e);
	}), dn(() => {
		if (G(s), !G(n)) return;
		let e = getComputedStyle(G(n)), a = (t) => e.getPropertyValue(t).trim(), c = {
			stroke: a("--soft"),
			grid: {
				stroke: a("--line"),
				width: 1
			},
			ticks: { show: !1 },
			font: "11px system-ui"
		}, l = new zp({
			width: G(n).clientWidth || 300,
			height: G(o),
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
				values: (e, t) => t.map((e) => e === null ? "" : qs(e))
			}],
			series: [{}, ...t.series.map((e, n) => ({
				paths: e.isFlag ? zp.paths.stepped({ align: 1 }) : void 0,
				stroke: a(i[n % i.length]),
				width: 1.5,
				points: { show: t.rows.length < 3 }
			}))],
			hooks: { draw: [(e) => {
				let t = e.valToPos(Q.row, "x", !0), { ctx: n, bbox: r } = e;
				n.save(), n.strokeStyle = a("--accent"), n.lineWidth = 2 * devicePixelRatio, n.beginPath(), n.moveTo(t, r.top), n.lineTo(t, r.top + r.height), n.stroke(), n.restore();
			}] }
		}, [t.rows, ...t.series.map((e) => e.values)], G(n)), u = new ResizeObserver(() => G(n) && l.setSize({
			width: G(n).clientWidth,
			height: G(o)
		}));
		return u.observe(G(n)), l.over.addEventListener("click", () => {
			let e = l.posToVal(l.cursor.left ?? 0, "x");
			Q.step(Math.min(t.end - 1, Math.max(t.start, Math.round(e))));
		}), R(r, l), () => {
			u.disconnect(), l.destroy(), R(r, null);
		};
	}), dn(() => {
		Q.row, G(r)?.redraw(!1);
	});
	let c = (e) => t.batch ? Up(t.batch.value(e.name, 0), e.type) : null;
	var l = Kp(), u = z(l);
	Si(u, (e) => R(n, e), () => G(n));
	var d = V(u, 2);
	Br(d, 21, () => t.series, Ir, (e, t, n) => {
		let r = F(() => c(G(t)));
		var i = Gp(), a = z(i);
		Zr(a, 1, `key-${n % 6 + 1}`);
		var o = V(a), s = B(V(o), !0);
		M(i), H((e) => {
			J(o, `${G(t).name ?? ""}${G(t).unit ? ` (${G(t).unit})` : ""} `), J(s, e);
		}, [() => G(r) === null ? "null" : qs(G(r))]), q(e, i);
	}), M(d), M(l), q(e, l), Ie();
}
// \0vite/preload-helper.js
var Jp = (function() {
	let e = typeof document < "u" && document.createElement("link").relList;
	return e && e.supports && e.supports("modulepreload") ? "modulepreload" : "preload";
})(), Yp = function(e) {
	return "/" + e;
}, Xp = {}, Zp = function(e) {
	return e.pathname.endsWith(".css");
}, Qp = function(e, t, n) {
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
}, $p = function(e, t, n) {
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
			t = Yp(t, n);
			let r = s(t), i = Zp(r);
			return Qp(Xp, r.href, () => {
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
				if (t.rel = i ? "stylesheet" : Jp, i || (t.as = "script"), t.crossOrigin = "", t.href = r.href, a && t.setAttribute("nonce", a), document.head.appendChild(t), i) return new Promise((e, n) => {
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
}, em = K("<p class=\"failure\"> </p>"), tm = K("<canvas role=\"img\"></canvas> <div class=\"over\" role=\"group\"><button class=\"quiet\">3-D</button> <button class=\"quiet\">From above</button></div>", 1), nm = K("<figure class=\"points\"><!> <figcaption><span> </span> <span> </span></figcaption></figure>");
function rm(e, t) {
	Fe(t, !0);
	let n = L(void 0), r = L(!1), i = L(""), a = L(null);
	dn(() => {
		if (!G(n)) return;
		let e = G(n), t = !1, r = new ResizeObserver(() => G(a)?.size());
		return $p(async () => {
			let { Scene3: e } = await import("./points.js");
			return { Scene3: e };
		}, []).then(({ Scene3: n }) => {
			t || (R(a, new n(e)), r.observe(e));
		}).catch((e) => R(i, `This browser draws no points: ${e.message}`)), () => {
			t = !0, r.disconnect(), G(a)?.close(), R(a, null);
		};
	}), dn(() => {
		G(a) && G(n) && G(a).show({
			points: t.points,
			boxes: t.boxes
		}, getComputedStyle(G(n)).getPropertyValue("--box").trim() || "#d9822b");
	}), dn(() => G(a)?.look(G(r)));
	var o = nm(), s = z(o), c = (e) => {
		var t = em(), n = B(t, !0);
		H(() => J(n, G(i))), q(e, t);
	}, l = (e) => {
		var i = tm(), a = Qt(i);
		Si(a, (e) => R(n, e), () => G(n));
		var o = V(a, 2), s = z(o), c = V(s, 2);
		M(o), H((e) => {
			X(a, "aria-label", `${t.name ?? ""}: ${e ?? ""} ${t.boxes ? `${t.boxes.shape[0]} boxes` : ""}`), X(o, "aria-label", `View of ${t.name ?? ""}`), X(s, "aria-pressed", !G(r)), X(c, "aria-pressed", G(r));
		}, [() => t.points ? Gs(t.points.shape[0], "point") : ""]), fr("click", s, () => R(r, !1)), fr("click", c, () => R(r, !0)), q(e, i);
	};
	Y(s, (e) => {
		G(i) ? e(c) : e(l, -1);
	});
	var u = V(s, 2), d = z(u), f = B(d, !0), p = B(V(d, 2));
	M(u), M(o), H((e, n) => {
		J(f, t.name), J(p, `${e ?? ""}${n ?? ""} · coloured by height`);
	}, [() => t.points ? Gs(t.points.shape[0], "point") : "", () => t.boxes ? ` · ${Ws(t.boxes.shape[0])} boxes` : ""]), q(e, o), Ie();
}
pr(["click"]);
// src/Tensor.svelte
var im = K("<p class=\"absent\">no elements</p>"), am = K("<td> </td>"), om = K("<tr></tr>"), sm = K("<p class=\"more\"> </p>"), cm = K("<table><tbody></tbody></table> <!>", 1), lm = K("<canvas role=\"img\"></canvas>"), um = K("<div><dt>NaN</dt><dd> </dd></div>"), dm = K("<!> <dl><div><dt>least</dt><dd> </dd></div> <div><dt>mean</dt><dd> </dd></div> <div><dt>most</dt><dd> </dd></div> <!></dl>", 1), fm = K("<div class=\"tensor\"><p class=\"label\"><span> </span><span> </span></p> <!></div>");
function pm(e, t) {
	Fe(t, !0);
	let n = L(void 0), r = F(() => lc(t.tensor.values)), i = F(() => t.tensor.values.length), a = F(() => {
		let e = t.tensor.shape.filter((e) => e !== 1);
		return e.length >= 2 ? [e[e.length - 2], e[e.length - 1]] : [1, e[0] ?? 1];
	}), o = F(() => G(a)[0] > 1 && G(a)[1] > 6 && G(a)[0] <= 2048 && G(a)[1] <= 2048), s = F(() => G(a)[0] > 1 ? G(a)[1] : Math.min(G(i), 5)), c = F(() => G(i) <= 16 || t.tensor.shape.length < 3 && G(s) <= 6);
	dn(() => {
		if (!G(n) || !G(o)) return;
		let [e, i] = G(a);
		G(n).width = i, G(n).height = e;
		let s = G(n).getContext("2d"), c = s.createImageData(i, e), l = Math.max(1e-300, G(r).most - G(r).least);
		for (let n = 0; n < e * i; n++) {
			let e = Number(t.tensor.values[n]), i = (e - G(r).least) / l;
			c.data[4 * n] = 20 + 230 * i ** 1.2, c.data[4 * n + 1] = 28 + 190 * i ** .9, c.data[4 * n + 2] = 84 + 120 * i * (1 - i) * 2 - 30 * i, c.data[4 * n + 3] = Number.isNaN(e) ? 0 : 255;
		}
		s.putImageData(c, 0, 0);
	});
	let l = F(() => {
		if (!G(c) || !G(i)) return [];
		let e = Array.from({ length: Math.min(G(i), 8 * G(s)) }, (e, n) => Number(t.tensor.values[n]));
		return Array.from({ length: Math.ceil(e.length / G(s)) }, (t, n) => e.slice(n * G(s), (n + 1) * G(s)));
	});
	var u = fm(), d = z(u), f = z(d), p = B(f, !0), m = B(V(f));
	M(d);
	var h = V(d, 2), g = (e) => {
		q(e, im());
	}, _ = (e) => {
		var n = cm(), r = Qt(n), a = z(r);
		Br(a, 21, () => G(l), Ir, (e, t) => {
			var n = om();
			Br(n, 21, () => G(t), Ir, (e, t) => {
				var n = am(), r = B(n, !0);
				H((e) => J(r, e), [() => qs(G(t))]), q(e, n);
			}), M(n), q(e, n);
		}), M(a), M(r);
		var o = V(r, 2), c = (e) => {
			var t = sm(), n = B(t);
			H(() => J(n, `the first ${8 * G(s)} of ${G(i) ?? ""} values`)), q(e, t);
		};
		Y(o, (e) => {
			G(i) > 8 * G(s) && e(c);
		}), H(() => X(r, "aria-label", t.name)), q(e, n);
	}, v = (e) => {
		var i = dm(), a = Qt(i), s = (e) => {
			var r = lm();
			Si(r, (e) => R(n, e), () => G(n)), H(() => X(r, "aria-label", `${t.name ?? ""} as a heat map`)), q(e, r);
		};
		Y(a, (e) => {
			G(o) && e(s);
		});
		var c = V(a, 2), l = z(c), u = B(V(z(l)), !0);
		M(l);
		var d = V(l, 2), f = B(V(z(d)), !0);
		M(d);
		var p = V(d, 2), m = B(V(z(p)), !0);
		M(p);
		var h = V(p, 2), g = (e) => {
			var t = um(), n = B(V(z(t)), !0);
			M(t), H(() => J(n, G(r).nan)), q(e, t);
		};
		Y(h, (e) => {
			G(r).nan && e(g);
		}), M(c), H((e, t, n) => {
			J(u, e), J(f, t), J(m, n);
		}, [
			() => qs(G(r).least),
			() => qs(G(r).mean),
			() => qs(G(r).most)
		]), q(e, i);
	};
	Y(h, (e) => {
		G(i) ? G(c) ? e(_, 1) : e(v, -1) : e(g);
	}), M(u), H((e) => {
		J(p, t.name), J(m, `${e ?? ""}${t.unit ? ` · ${t.unit}` : ""}`);
	}, [() => t.tensor.shape.join(" × ")]), q(e, u), Ie();
}
// src/Card.svelte
var mm = K("<div class=\"damaged\" role=\"alert\"><b>This group cannot be read here.</b> <p> </p></div>"), hm = K("<p class=\"absent tall\" role=\"status\">reading …</p>"), gm = K("<p class=\"absent tall\">The other table of this merge has no row here.</p>"), _m = K("<div></div>"), vm = K("<!> <!>", 1), ym = K("<small> </small>"), bm = K("<div><dt> </dt> <dd> <!></dd></div>"), xm = K("<dl class=\"pairs\"></dl>"), Sm = K("<div class=\"long\"><p class=\"label\"><span> </span></p> <pre tabindex=\"0\"> </pre></div>"), Cm = K("<p class=\"absent\">null</p>"), wm = K("<pre class=\"hex\" tabindex=\"0\"> </pre>"), Tm = K("<div class=\"long\"><p class=\"label\"><span> </span><span> </span></p> <!></div>"), Em = K("<!> <!> <!> <!> <!> <!> <!> <!>", 1), Dm = K("<section><h2> <small> </small></h2> <!></section>");
function Om(e, t) {
	Fe(t, !0);
	let n = F(() => t.batch ? t.group.columns.map((e) => {
		let n = t.batch.value(e.name, 0), r = Vp(e);
		return r === "bytes" ? {
			column: e,
			value: n,
			kind: sc(n) || n === null && t.strip ? "picture" : "bytes"
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
	}) : []), r = (e) => G(n).filter((t) => t.kind === e), i = F(() => r("points").filter((e) => Vp(e.column) === "points")), a = F(() => r("points").find((e) => Vp(e.column) === "boxes")), o = F(() => t.batch !== null && t.group.columns.length > 0 && !t.batch.there(t.group.columns[0].name, 0) && t.batch.rows[0] !== null), s = F(() => r("picture").length > 1);
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
			return `[${n.slice(0, 12).map((e) => ec(e, t.startsWith("bf16[") ? "bf16" : "")).join(", ")}${n.length > 12 ? `, … ${n.length}` : ""}]`;
		}
		return ec(e, t);
	}
	var d = Dm();
	let f;
	var p = z(d), m = z(p), h = B(V(m), !0);
	M(p);
	var g = V(p, 2), _ = (e) => {
		var n = mm(), r = B(V(z(n), 2), !0);
		M(n), H(() => J(r, t.failure)), q(e, n);
	}, v = (e) => {
		q(e, hm());
	}, y = (e) => {
		q(e, gm());
	}, b = (e) => {
		var n = Em(), o = Qt(n), d = (e) => {
			var n = _m();
			let i;
			Br(n, 21, () => r("picture"), (e) => e.column.name, (e, n) => {
				Nc(e, {
					get name() {
						return G(n).column.name;
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
			}), M(n), H(() => i = Zr(n, 1, "pictures", null, i, { several: G(s) })), q(e, n);
		}, f = F(() => r("picture").length);
		Y(o, (e) => {
			G(f) && e(d);
		});
		var p = V(o, 2);
		Br(p, 17, () => G(i), (e) => e.column.name, (e, n) => {
			{
				let r = F(() => cc(G(n).value, G(n).column.type ?? "")), i = F(() => G(a) ? cc(G(a).value, G(a).column.type ?? "") : t.boxes);
				rm(e, {
					get name() {
						return G(n).column.name;
					},
					get points() {
						return G(r);
					},
					get boxes() {
						return G(i);
					}
				});
			}
		});
		var m = V(p, 2), h = (e) => {
			{
				let t = F(() => cc(G(a).value, G(a).column.type ?? ""));
				pm(e, {
					get name() {
						return G(a).column.name;
					},
					get tensor() {
						return G(t);
					},
					get unit() {
						return G(a).column.unit;
					}
				});
			}
		};
		Y(m, (e) => {
			G(a) && !G(i).length && e(h);
		});
		var g = V(m, 2), _ = (e) => {
			var n = vm(), r = Qt(n);
			Br(r, 17, () => t.along.paths, (e) => e.name, (e, t) => {
				Sc(e, {
					get name() {
						return G(t).name;
					},
					get places() {
						return G(t).places;
					},
					get row() {
						return Q.row;
					}
				});
			}), Br(V(r, 2), 17, () => t.along.plots, Ir, (e, n) => {
				qp(e, {
					get rows() {
						return t.along.rows;
					},
					get series() {
						return G(n);
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
		Br(v, 17, () => r("tensor"), (e) => e.column.name, (e, t) => {
			let n = F(() => cc(G(t).value, G(t).column.type ?? ""));
			var r = wr(), i = Qt(r), a = (e) => {
				pm(e, {
					get name() {
						return G(t).column.name;
					},
					get tensor() {
						return G(n);
					},
					get unit() {
						return G(t).column.unit;
					}
				});
			};
			Y(i, (e) => {
				G(n) && e(a);
			}), q(e, r);
		});
		var y = V(v, 2), b = (e) => {
			var t = xm();
			Br(t, 21, () => r("pair"), (e) => e.column.name, (e, t) => {
				var n = bm(), r = z(n), i = B(r, !0), a = V(r, 2);
				let o;
				var s = z(a, !0), c = V(s), l = (e) => {
					var n = ym(), r = B(n);
					H(() => J(r, ` ${G(t).column.unit ?? ""}`)), q(e, n);
				};
				Y(c, (e) => {
					G(t).column.unit && G(t).value !== null && e(l);
				}), M(a), M(n), H((e) => {
					J(i, G(t).column.name), o = Zr(a, 1, "", null, o, { null: G(t).value === null }), J(s, e);
				}, [() => u(G(t).value, G(t).column.type ?? "")]), q(e, n);
			}), M(t), q(e, t);
		}, x = F(() => r("pair").length);
		Y(y, (e) => {
			G(x) && e(b);
		});
		var S = V(y, 2);
		Br(S, 17, () => r("text"), (e) => e.column.name, (e, t) => {
			var n = Sm(), r = z(n), i = B(z(r), !0);
			M(r);
			var a = V(r, 2), o = B(a, !0);
			M(n), H((e) => {
				J(i, G(t).column.name), X(a, "aria-label", G(t).column.name), J(o, e);
			}, [() => c(G(t).value)]), q(e, n);
		}), Br(V(S, 2), 17, () => r("bytes"), (e) => e.column.name, (e, t) => {
			var n = Tm(), r = z(n), i = z(r), a = B(i, !0), o = B(V(i), !0);
			M(r);
			var s = V(r, 2), c = (e) => {
				q(e, Cm());
			}, u = (e) => {
				var n = wm(), r = B(n, !0);
				H((e) => {
					X(n, "aria-label", `${G(t).column.name ?? ""} in hexadecimal`), J(r, e);
				}, [() => l(G(t).value)]), q(e, n);
			};
			Y(s, (e) => {
				G(t).value === null ? e(c) : e(u, -1);
			}), M(n), H((e) => {
				J(a, G(t).column.name), J(o, e);
			}, [() => G(t).value === null ? "" : Ks(G(t).value.length)]), q(e, n);
		}), q(e, n);
	};
	Y(g, (e) => {
		t.failure ? e(_) : t.batch ? G(o) ? e(y, 2) : e(b, -1) : e(v, 1);
	}), M(d), H((e) => {
		f = Zr(d, 1, "card", null, f, { wide: G(s) }), X(d, "aria-label", t.group.name), X(d, "aria-busy", !t.batch && !t.failure), J(m, `${t.group.name ?? ""} `), J(h, e);
	}, [() => Gs(t.group.columns.length, "column")]), q(e, d), Ie();
}
// src/Row.svelte
var km = K("<b> </b> ", 1), Am = K("<small> </small>"), jm = K("<p class=\"failure\" role=\"alert\"> </p>"), Mm = K("<button class=\"same\">=</button>"), Nm = K("<div><dt> </dt> <dd> <!> <!></dd></div>"), Pm = K("<dl class=\"pairs\"></dl>"), Fm = K("<section class=\"player\" aria-label=\"Sequence\"><div class=\"buttons\"><button class=\"quiet\" aria-label=\"Row before\">←</button> <button class=\"primary\"> </button> <button class=\"quiet\" aria-label=\"Row after\">→</button></div> <input type=\"range\" aria-label=\"Row of the sequence\"/> <p class=\"number\" role=\"status\"><!> <!></p> <button class=\"quiet flagger\"> </button></section> <!> <div class=\"cards\"><section class=\"card index\" aria-labelledby=\"index-card\"><h2 id=\"index-card\">Index <small> </small></h2> <!> <!></section> <div class=\"groups\"></div></div> <p class=\"keys\"><kbd>←</kbd> <kbd>→</kbd> step · <kbd>space</kbd> plays · <kbd>f</kbd> flags · <kbd>Home</kbd> <kbd>End</kbd> of the sequence · <kbd>Esc</kbd> rows</p>", 1);
function Im(e, t) {
	Fe(t, !0);
	let n = L({}), r = L(null), i = L(null), a = L({
		start: 0,
		end: Q.info?.rows ?? 0
	}), o = L(""), s = L(!1), c = L(null), l = F(() => Q.info), u = F(() => G(l).rows - 1), d = F(() => G(l).index.filter((e) => $s(e.type) && !G(l).sequence_by.includes(e.name) && !G(l).order_by.includes(e.name) && !/^([mun]s|µs)$/.test(e.unit ?? "")).map((e) => e.name)), f = (e, t) => R(n, {
		...G(n),
		[e]: {
			...G(n)[e] ?? { row: -1 },
			...t
		}
	}), p = new Map();
	function h(e, t) {
		let n = `${e}/${t.name}`, r = p.get(n);
		if (r) return r.batch;
		let i = new AbortController(), a = zs("row", [
			["table", Q.table],
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
		return p.size > 8 * Math.max(1, G(l).groups.length) && s && p.delete(s), a;
	}
	let g = -1;
	dn(() => {
		let e = Math.min(Q.row, G(u));
		g = e;
		let t = performance.now();
		R(o, "");
		let n = new AbortController();
		for (let [t, n] of p) n.row !== e && n.row !== e + 1 && (n.stop.abort(), n.isDone || p.delete(t));
		zs("rows", [["table", Q.table], ["rows", e]], n.signal).then((t) => g === e && R(r, t)).catch((t) => g === e && ((e) => {
			var t = m(e, 2);
			return R(r, t[0]), R(o, t[1], !0), e;
		})([null, t.message]));
		let i = G(l).groups.map((t) => h(e, t).then((n) => g === e && f(t.name, {
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
			if (g === e && (R(c, performance.now() - t), G(s) ? e + 1 >= G(a).end ? R(s, !1) : d = setTimeout(() => Q.step(e + 1), Math.max(20, 100 - G(c))) : d = setTimeout(() => _(e, n.signal), 60), e + 1 < G(a).end)) for (let t of G(l).groups) h(e + 1, t).catch(() => {});
		}), () => {
			clearTimeout(d), n.abort();
		};
	});
	function _(e, t) {
		for (let n of G(l).groups) {
			let r = n.columns.filter((e) => Vp(e) === "bytes");
			r.length && zs("row", [
				["table", Q.table],
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
	dn(() => {
		let e = Math.min(Q.row, G(u));
		if (v && e >= G(a).start && e < G(a).end) return;
		y.abort();
		let { signal: t } = y = new AbortController();
		R(i, null), R(n, Object.fromEntries(Object.entries(rr(() => G(n))).map(([e, t]) => [e, {
			...t,
			along: void 0
		}]))), Rs("sequence", [["table", Q.table], ["row", e]], t).then((e) => {
			R(a, e), v = `${e.start}`;
			let n = [
				["table", Q.table],
				["start", e.start],
				["end", e.end],
				["points", 500]
			];
			G(d).length && zs("series", [...n, ...G(d).map((e) => ["index", e])], t).then((e) => R(i, Wp(e, G(l).index)), () => {});
			for (let e of G(l).groups) {
				let r = e.columns.filter((e) => ["number", "pose"].includes(Vp(e))).map((e) => e.name);
				r.length && zs("series", [...n, ...r.map((e) => ["columns", e])], t).then((t) => f(e.name, { along: Wp(t, e.columns) }), () => {});
			}
		}).catch((e) => t.aborted || R(o, e.message, !0));
	});
	let b = F(() => {
		for (let e of G(l).groups) for (let t of e.columns) {
			let r = G(n)[e.name]?.batch;
			if (r && Vp(t) === "boxes") return cc(r.value(t.name, 0), t.type ?? "");
		}
		return null;
	}), x = (e) => Math.min(Math.max(0, e), G(u)), S = {
		ArrowRight: () => Q.step(x(Q.row + 1)),
		ArrowLeft: () => Q.step(x(Q.row - 1)),
		PageDown: () => Q.step(x(Q.row + 10)),
		PageUp: () => Q.step(x(Q.row - 10)),
		Home: () => v && Q.step(G(a).start),
		End: () => v && Q.step(Math.max(G(a).start, G(a).end - 1)),
		f: () => Q.flag(Q.row),
		" ": C,
		Escape: () => Q.show("rows")
	};
	function C() {
		R(s, !G(s)), G(s) && Q.step(Q.row + 1 < G(a).end ? Q.row + 1 : G(a).start);
	}
	function w(e) {
		if (e.altKey || e.ctrlKey || e.metaKey || document.querySelector("dialog[open]")) return;
		let t = e.target;
		if (t.matches("input, select, textarea") || t.matches("button") && [" ", "Enter"].includes(e.key)) return;
		let n = S[e.key];
		n && (e.preventDefault(), n());
	}
	dn(() => () => {
		((e) => {
			var t = m(e, 2);
			R(s, t[0], !0), g = t[1];
		})([!1, -1]);
		for (let e of p.values()) e.stop.abort();
		y.abort();
	});
	var ee = Fm();
	dr("keydown", Wt, w);
	var T = Qt(ee), E = z(T), D = z(E), te = V(D, 2), ne = B(te, !0), re = V(te, 2);
	M(E);
	var ie = V(E, 2);
	ui(ie);
	var ae = V(ie, 2), oe = z(ae), se = (e) => {
		var t = km(), n = Qt(t), r = B(n, !0), i = V(n);
		H((e, t) => {
			J(r, e), J(i, ` of ${t ?? ""} in its sequence`);
		}, [() => Ws(Q.row - G(a).start + 1), () => Ws(G(a).end - G(a).start)]), q(e, t);
	}, ce = (e) => {
		var t = km(), n = Qt(t), r = B(n, !0), i = V(n);
		H((e, t) => {
			J(r, e), J(i, ` of ${t ?? ""}`);
		}, [() => Ws(Q.row + 1), () => Ws(G(l).rows)]), q(e, t);
	};
	Y(oe, (e) => {
		G(a).end - G(a).start < G(l).rows ? e(se) : e(ce, -1);
	});
	var le = V(oe, 2), ue = (e) => {
		var t = Am(), n = B(t);
		H((e) => J(n, `${e ?? ""} ms`), [() => G(c).toFixed(0)]), q(e, t);
	};
	Y(le, (e) => {
		G(c) !== null && e(ue);
	}), M(ae);
	var O = V(ae, 2), k = B(O);
	M(T);
	var de = V(T, 2), fe = (e) => {
		var t = jm(), n = B(t, !0);
		H(() => J(n, G(o))), q(e, t);
	};
	Y(de, (e) => {
		G(o) && e(fe);
	});
	var pe = V(de, 2), me = z(pe), he = z(me), A = B(V(z(he)));
	M(he);
	var ge = V(he, 2), j = (e) => {
		var t = Pm();
		Br(t, 21, () => G(l).index, (e) => e.name, (e, t) => {
			let n = F(() => G(r).value(G(t).name, 0)), i = F(() => G(r).types.get(G(t).name) ?? ""), a = F(() => nc(G(n), G(i)));
			var o = Nm(), s = z(o), c = B(s, !0), l = V(s, 2);
			let u;
			var d = z(l, !0), f = V(d), p = (e) => {
				var n = Am(), r = B(n);
				H(() => J(r, ` ${G(t).unit ?? ""}`)), q(e, n);
			};
			Y(f, (e) => {
				G(t).unit && G(n) !== null && e(p);
			});
			var m = V(f, 2), h = (e) => {
				var r = Mm();
				H(() => {
					X(r, "aria-label", `Rows with the same ${G(t).name ?? ""}`), X(r, "title", `Rows with the same ${G(t).name ?? ""}`);
				}), fr("click", r, () => {
					Q.where = [...Q.where, `${rc(G(t).name)} ${G(n) === null ? "IS NULL" : `= ${G(a)}`}`], Q.show("rows");
				}), q(e, r);
			};
			Y(m, (e) => {
				(G(a) !== null || G(n) === null) && e(h);
			}), M(l), M(o), H((e) => {
				J(c, G(t).name), u = Zr(l, 1, "", null, u, { null: G(n) === null }), J(d, e);
			}, [() => ec(G(n), G(i))]), q(e, o);
		}), M(t), q(e, t);
	};
	Y(ge, (e) => {
		G(r) && e(j);
	});
	var _e = V(ge, 2), ve = (e) => {
		var t = wr();
		Br(Qt(t), 17, () => G(i).plots, Ir, (e, t) => {
			qp(e, {
				get rows() {
					return G(i).rows;
				},
				get series() {
					return G(t);
				},
				get batch() {
					return G(r);
				},
				get start() {
					return G(a).start;
				},
				get end() {
					return G(a).end;
				}
			});
		}), q(e, t);
	};
	Y(_e, (e) => {
		G(i) && e(ve);
	}), M(me);
	var be = V(me, 2);
	Br(be, 21, () => G(l).groups, (e) => e.name, (e, t) => {
		let r = F(() => G(n)[G(t).name]);
		{
			let n = F(() => G(r)?.batch ?? null), i = F(() => G(r)?.strip ?? null), o = F(() => G(r)?.stripOf !== Math.min(Q.row, G(u))), s = F(() => G(r)?.failure ?? null), c = F(() => G(r)?.along ?? null);
			Om(e, {
				get group() {
					return G(t);
				},
				get batch() {
					return G(n);
				},
				get strip() {
					return G(i);
				},
				get isStale() {
					return G(o);
				},
				before: 3,
				get failure() {
					return G(s);
				},
				get along() {
					return G(c);
				},
				get boxes() {
					return G(b);
				},
				get sequence() {
					return G(a);
				}
			});
		}
	}), M(be), M(pe), ye(2), H((e, t, n, r) => {
		D.disabled = Q.row <= 0, X(te, "aria-pressed", G(s)), J(ne, G(s) ? "Stop" : "Play"), re.disabled = Q.row >= G(u), X(ie, "min", G(a).start), X(ie, "max", e), di(ie, Q.row), X(O, "aria-pressed", t), J(k, `⚑ ${n ?? ""}`), J(A, `row ${r ?? ""}`);
	}, [
		() => Math.max(G(a).start, G(a).end - 1),
		() => Q.flags.includes(Q.row),
		() => Q.flags.includes(Q.row) ? "Flagged" : "Flag",
		() => Ws(Q.row)
	]), fr("click", D, function(...e) {
		S.ArrowLeft?.apply(this, e);
	}), fr("click", te, C), fr("click", re, function(...e) {
		S.ArrowRight?.apply(this, e);
	}), fr("input", ie, (e) => Q.step(Number(e.currentTarget.value))), fr("click", O, () => Q.flag(Q.row)), q(e, ee), Ie();
}
pr(["click", "input"]);
// src/Head.svelte
var Lm = Sr("<rect></rect>"), Rm = K("<span> </span><span> </span>", 1), zm = K("<span> </span>"), Bm = K("<svg preserveAspectRatio=\"none\" aria-hidden=\"true\"></svg> <p class=\"range\"><!></p>", 1), Vm = K("<li><button><span class=\"share\"></span><span class=\"text\"> </span> <span class=\"times\"> </span></button></li>"), Hm = K("<span>too many different to count</span>"), Um = K("<ul class=\"values\"></ul> <p class=\"range\"><!></p>", 1), Wm = K("<button> </button>"), Gm = K("<p class=\"nulls\"><!> <!> <!></p>"), Km = K("<div class=\"head\" role=\"columnheader\"><button class=\"sort\"><span class=\"text\"> </span> <span class=\"arrow\" aria-hidden=\"true\"> </span></button> <p class=\"type\"> </p> <!> <!></div>");
function qm(e, t) {
	Fe(t, !0);
	let n = F(() => t.column.type ?? ""), r = F(() => t.head?.counts ?? []), i = F(() => G(r).reduce((e, t) => Math.max(e, t), 1)), a = F(() => 128 / Math.max(1, G(r).length)), o = L(null), s = L(null);
	function c(e) {
		if (t.head?.start === void 0 || t.head.width === void 0) return null;
		if (t.head.whole) return String(BigInt(t.head.start) + BigInt(t.head.width) * BigInt(e));
		let r = Number(t.head.start) + Number(t.head.width) * e;
		return G(n) === "u64" ? String(BigInt(Math.max(0, Math.ceil(r)))) : r;
	}
	function l(e) {
		return e == null ? "" : typeof e == "number" ? qs(e) : G(n) === "date" ? ec(Number(e), G(n)) : Ys(G(n)) || G(n).startsWith("duration") ? ec(BigInt(e), G(n)) : e.replace("-", "−");
	}
	let u = F(() => G(r).length > 1 && !/^(timestamp|date|duration)/.test(G(n)));
	function d(e) {
		if (!G(u) || G(s) === null) return;
		let [i, a] = [Math.min(G(s), e), Math.max(G(s), e)];
		R(s, null);
		let o = rc(t.column.name), l = a === G(r).length - 1 ? t.head?.whole || typeof t.head?.most == "number" && G(n) !== "u64" ? ` AND ${o} <= ${t.head.most}` : "" : ` AND ${o} < ${c(a + 1)}`;
		Q.filter(`${o} >= ${c(i)}${l}`, `${o} >= `);
	}
	function f(e) {
		let t = e.currentTarget.getBoundingClientRect();
		return Math.min(G(r).length - 1, Math.max(0, Math.floor((e.clientX - t.left) / t.width * G(r).length)));
	}
	let p = (e) => `${rc(t.column.name)} = ${G(n) === "bool" ? e : `'${e.replaceAll("'", "''")}'`}`, h = (e) => Math.max(2, Math.round(100 * e / Math.max(1, t.head?.rows ?? 1))), g = F(() => Q.sort === t.column.name ? Q.descending ? "descending" : "ascending" : "none"), _ = F(() => t.column.unit ? ` · ${t.column.unit}` : "");
	var v = Km();
	let y;
	var b = z(v), x = z(b), S = B(x, !0), C = B(V(x, 2), !0);
	M(b);
	var w = V(b, 2), ee = B(w), T = V(w, 2), E = (e) => {
		var p = Bm(), h = Qt(p);
		let g;
		X(h, "viewBox", "0 0 128 34"), Br(h, 21, () => G(r), Ir, (e, t, n) => {
			let r = F(() => G(t) ? Math.max(1.5, G(t) / G(i) * 32) : 0), c = F(() => G(o) !== null && n >= Math.min(G(o), G(s) ?? G(o)) && n <= Math.max(G(o), G(s) ?? G(o)));
			var l = Lm();
			let u;
			H((e) => {
				X(l, "x", n * G(a)), X(l, "y", 34 - G(r)), X(l, "width", e), X(l, "height", G(r)), u = Zr(l, 0, "", null, u, { chosen: G(c) });
			}, [() => Math.max(.6, G(a) - .5)]), q(e, l);
		}), M(h);
		var _ = V(h, 2), v = z(_), y = (e) => {
			var t = Rm(), n = Qt(t), i = B(n, !0), a = B(V(n), !0);
			H((e, t) => {
				J(i, e), J(a, t);
			}, [() => l(c(G(o))), () => Ws(G(r)[G(o)])]), q(e, t);
		}, b = (e) => {
			var n = zm(), r = B(n);
			H((e) => J(r, `all ${e ?? ""}`), [() => l(t.head.least)]), q(e, n);
		}, x = (e) => {
			var n = zm(), r = B(n);
			H((e, t, i) => {
				X(n, "title", `${e ?? ""} to ${t ?? ""}`), J(r, `${i ?? ""} …`);
			}, [
				() => l(t.head.least),
				() => l(t.head.most),
				() => l(t.head.least).slice(0, 16)
			]), q(e, n);
		}, S = F(() => Ys(G(n)) || l(t.head.least).length + l(t.head.most).length > 20), C = (e) => {
			var n = Rm(), r = Qt(n), i = B(r, !0), a = B(V(r), !0);
			H((e, t) => {
				J(i, e), J(a, t);
			}, [() => l(t.head.least), () => l(t.head.most)]), q(e, n);
		};
		Y(v, (e) => {
			G(o) === null ? t.head.least === t.head.most ? e(b, 1) : G(S) ? e(x, 2) : e(C, -1) : e(y);
		}), M(_), H(() => g = Zr(h, 0, "histogram", null, g, { choosable: G(u) })), fr("pointerdown", h, (e) => R(s, f(e), !0)), fr("pointerup", h, (e) => d(f(e))), fr("pointermove", h, (e) => R(o, f(e), !0)), dr("pointerleave", h, () => ((e) => {
			var t = m(e, 2);
			return R(o, t[0], !0), R(s, t[1], !0), e;
		})([null, null])), q(e, p);
	}, D = (e) => {
		var n = Um(), r = Qt(n);
		Br(r, 21, () => (t.head.values ?? []).slice(0, 3), Ir, (e, n) => {
			var r = F(() => m(G(n), 2));
			let i = () => G(r)[0], a = () => G(r)[1];
			var o = Vm(), s = z(o), c = z(s);
			let l;
			var u = V(c), d = B(u, !0), f = B(V(u, 2), !0);
			M(s), M(o), H((e, t, n) => {
				X(s, "title", `${i() ?? ""}: ${e ?? ""} rows`), l = $r(c, "", l, { width: t }), J(d, i() === "" ? "\"\"" : i()), J(f, n);
			}, [
				() => Ws(a()),
				() => `${h(a()) ?? ""}%`,
				() => Ws(a())
			]), fr("click", s, () => Q.filter(p(i()), `${rc(t.column.name)} = `)), q(e, o);
		}), M(r);
		var i = V(r, 2), a = z(i), o = (e) => {
			q(e, Hm());
		}, s = (e) => {
			var n = zm(), r = B(n);
			H((e) => J(r, `${e ?? ""} different`), [() => Ws(t.head.distinct ?? 0)]), q(e, n);
		};
		Y(a, (e) => {
			t.head.distinct === null ? e(o) : (t.head.distinct ?? 0) > 3 && e(s, 1);
		}), M(i), q(e, n);
	};
	Y(T, (e) => {
		t.head?.kind === "numbers" && G(r).length ? e(E) : t.head?.kind === "values" && e(D, 1);
	});
	var te = V(T, 2), ne = (e) => {
		var n = Gm(), r = z(n), i = (e) => {
			var n = Wm(), r = B(n);
			H((e) => J(r, `${e ?? ""} null${t.head.nulls === 1 ? "" : "s"}`), [() => Ws(t.head.nulls)]), fr("click", n, () => Q.filter(`${rc(t.column.name)} IS NULL`)), q(e, n);
		};
		Y(r, (e) => {
			t.head.nulls && e(i);
		});
		var a = V(r, 2), o = (e) => {
			var n = zm(), r = B(n);
			H((e) => J(r, `${e ?? ""} NaN`), [() => Ws(t.head.nan)]), q(e, n);
		};
		Y(a, (e) => {
			t.head.nan && e(o);
		});
		var s = V(a, 2), c = (e) => {
			var n = zm(), r = B(n);
			H((e) => J(r, `${e ?? ""} infinite`), [() => Ws(t.head.infinite)]), q(e, n);
		};
		Y(s, (e) => {
			t.head.infinite && e(c);
		}), M(n), q(e, n);
	};
	Y(te, (e) => {
		t.head && (t.head.nulls || t.head.nan || t.head.infinite) && e(ne);
	}), M(v), H(() => {
		X(v, "aria-sort", G(g)), y = $r(v, "", y, { width: `${t.width ?? ""}px` }), X(b, "title", `Sort by ${t.column.name ?? ""}`), J(S, t.column.name), J(C, G(g) === "ascending" ? "↑" : G(g) === "descending" ? "↓" : ""), J(ee, `${G(n) ?? ""}${G(_) ?? ""}`);
	}), fr("click", b, () => Q.sortBy(t.column.name)), q(e, v), Ie();
}
pr([
	"click",
	"pointerdown",
	"pointerup",
	"pointermove"
]);
// src/rows.ts
var Jm = 128, Ym = 64, Xm = class {
	pages = new Map();
	wanted = [];
	running = new Map();
	parameters;
	changed;
	constructor(e, t) {
		this.parameters = e, this.changed = t;
	}
	look(e, t) {
		let n = Math.floor(e / Jm), r = Math.floor(Math.max(e, t - 1) / Jm);
		this.wanted = [];
		for (let e = n; e <= r; e++) this.wanted.push(e);
		for (let [e, t] of this.running) (e < n - 1 || e > r + 1) && (t.abort(), this.running.delete(e));
		for (let e of this.wanted) this.read(e);
	}
	row(e) {
		let t = Math.floor(e / Jm), n = this.pages.get(t);
		return n && e - t * Jm < n.rows.length ? {
			batch: n,
			place: e - t * Jm
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
			let n = await zs("rows", [
				...this.parameters,
				["start", e * Jm],
				["count", Jm]
			], t.signal);
			if (this.pages.set(e, n), this.pages.size > Ym) {
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
}, Zm = K("<b> </b> ", 1), Qm = K("<span class=\"busy\" aria-label=\"working\"></span>"), $m = K("<li><code> </code><button>×</button></li>"), eh = K("<li>by <code> </code> <button aria-label=\"Do not sort\">×</button></li>"), th = K("<li><label><input type=\"checkbox\"/> </label></li>"), nh = K("<ul class=\"chips\" aria-label=\"What is chosen\"><!> <!> <!></ul>"), rh = K("<p id=\"sql-failure\" class=\"failure\" role=\"alert\"> </p>"), ih = K("<span class=\"flag\" title=\"flagged\">⚑</span>"), ah = K("<div role=\"gridcell\"> </div>"), oh = K("<div class=\"line\" role=\"row\"><div class=\"cell name\" role=\"gridcell\"> <!></div> <!></div>"), sh = K("<p class=\"empty\">No row fits these conditions.</p>"), ch = K("<p class=\"progress\"> </p>"), lh = K("<section class=\"filters\" aria-label=\"Filter\"><form><label for=\"sql\">WHERE</label> <input id=\"sql\" placeholder=\"a condition in SQL, such as speed > 10\" autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"sql-failure\"/> <button class=\"primary\" type=\"submit\">Filter</button></form> <p class=\"number\" role=\"status\"><!> <!></p> <!> <!></section> <div role=\"grid\" tabindex=\"0\"><div class=\"heads\" role=\"rowgroup\"><div role=\"row\" aria-rowindex=\"1\"><div class=\"corner\" role=\"columnheader\">row</div> <!></div></div> <div class=\"layer\" role=\"rowgroup\"></div> <div class=\"spacer\" role=\"presentation\"></div></div> <!> <!>", 1);
function uh(e, t) {
	Fe(t, !0);
	let n = 15e6, r = L(null), i = L(null), a = L(null), o = null, s = L(0), c = L(0), l = L(0), u = L(600), d = L(""), f = L(!1), p = L(void 0), m = F(() => (Q.info?.index ?? []).filter((e) => !Q.hidden.includes(e.name))), h = F(() => G(m).map((e) => Math.min(290, Math.max(148, 26 + 8.2 * Math.max(e.name.length + (e.unit ? 2 + e.unit.length : 0), /timestamp/.test(e.type ?? "") ? 30 : /^[iu]64$/.test(e.type ?? "") && e.unit ? 20 : 0))))), g = F(() => G(h).reduce((e, t) => e + t, 0) + 88), _ = F(() => Math.max(1, Math.floor((G(u) - 132) / 30))), v = F(() => Math.max(0, (G(r) ?? 0) - G(_))), y = F(() => Math.min((G(r) ?? 0) * 30, n)), b = F(() => Math.max(1, G(y) - (G(u) - 132))), x = F(() => Math.floor(G(c))), S = F(() => Array.from({ length: Math.max(0, Math.min(G(_) + 2, (G(r) ?? 0) - G(x))) }, (e, t) => G(x) + t));
	dn(() => {
		let e = Q.parameters, t = new AbortController();
		return R(i, null), R(f, !0), Rs("select", e, t.signal).then(async (n) => {
			if (R(r, n.rows, !0), R(f, !1), await er(), t.signal.aborted) return;
			o = new Xm(e, (e) => {
				e ? R(i, e, !0) : Rt(s);
			});
			let c = Math.min(Q.row, Math.max(0, n.rows - 1));
			R(l, c, !0), ee(Q.where.length || Q.sort ? 0 : c), Rt(s), Bs("heads", e, (e) => R(a, e), t.signal).catch((e) => {
				t.signal.aborted || R(i, e, !0);
			});
		}).catch((e) => {
			t.signal.aborted || (R(f, !1), R(i, e, !0));
		}), () => {
			t.abort(), o?.close();
		};
	}), dn(() => {
		G(s), G(r) && o?.look(G(x), Math.min(G(r), G(x) + G(_) + 2));
	});
	let C = (e) => (G(s), o?.row(e) ?? null), w = -1;
	function ee(e) {
		R(c, Math.min(Math.max(0, e), G(v)), !0), G(p) && (w = G(v) ? Math.round(G(c) / G(v) * G(b)) : 0, G(p).scrollTop = w);
	}
	function T() {
		G(p) && (Math.abs(G(p).scrollTop - w) < 1.5 || (w = G(p).scrollTop, R(c, Math.min(G(v), w / G(b) * G(v)), !0)));
	}
	function E(e) {
		e.ctrlKey || !e.deltaY || G(y) < n || (e.preventDefault(), ee(G(c) + (e.deltaMode ? e.deltaY : e.deltaY / 30)));
	}
	function D(e) {
		R(l, Math.min(Math.max(0, e), Math.max(0, (G(r) ?? 0) - 1)), !0), G(l) < G(c) ? ee(G(l)) : G(l) > G(c) + G(_) - 1 && ee(G(l) - G(_) + 1);
	}
	let te = {
		ArrowDown: () => D(G(l) + 1),
		ArrowUp: () => D(G(l) - 1),
		PageDown: () => D(G(l) + G(_)),
		PageUp: () => D(G(l) - G(_)),
		Home: () => D(0),
		End: () => D((G(r) ?? 1) - 1),
		Enter: () => re(G(l))
	};
	function ne(e) {
		if (e.target !== G(p) || e.altKey || e.ctrlKey || e.metaKey) return;
		let t = te[e.key];
		t && (e.preventDefault(), t());
	}
	function re(e) {
		let t = C(e);
		t && Q.open(t.batch.rows[t.place]);
	}
	function ie(e) {
		e.key === "/" && !(e.target instanceof HTMLInputElement) && (e.preventDefault(), document.getElementById("sql")?.focus());
	}
	function ae(e) {
		e.preventDefault(), G(d).trim() && Q.filter(G(d).trim()), R(d, "");
	}
	dn(() => {
		let e = G(p);
		return e?.addEventListener("wheel", E, { passive: !1 }), () => e?.removeEventListener("wheel", E);
	});
	var oe = lh();
	dr("keydown", Wt, ie);
	var se = Qt(oe), ce = z(se), le = V(z(ce), 2);
	ui(le), ye(2), M(ce);
	var ue = V(ce, 2), O = z(ue), k = (e) => {
		q(e, Cr("…"));
	}, de = (e) => {
		var t = Zm(), n = Qt(t), i = B(n, !0), a = V(n);
		H((e, t) => {
			J(i, e), J(a, ` ${t ?? ""}`);
		}, [() => Ws(G(r)), () => G(r) === Q.info?.rows ? G(r) === 1 ? "row" : "rows" : `of ${Gs(Q.info?.rows ?? 0, "row")}`]), q(e, t);
	};
	Y(O, (e) => {
		G(r) === null ? e(k) : e(de, -1);
	});
	var fe = V(O, 2), pe = (e) => {
		q(e, Qm());
	};
	Y(fe, (e) => {
		G(f) && e(pe);
	}), M(ue);
	var me = V(ue, 2), he = (e) => {
		var t = nh(), n = z(t);
		Br(n, 17, () => Q.where, Ir, (e, t) => {
			var n = $m(), r = z(n), i = B(r, !0), a = V(r);
			M(n), H(() => {
				J(i, G(t)), X(a, "aria-label", `Remove ${G(t) ?? ""}`);
			}), fr("click", a, () => Q.drop(G(t))), q(e, n);
		});
		var r = V(n, 2), i = (e) => {
			var t = eh(), n = V(z(t)), r = B(n, !0), i = V(n), a = V(i);
			M(t), H(() => {
				J(r, Q.sort), J(i, `${Q.descending ? " ↓" : " ↑"} `);
			}), fr("click", a, () => {
				Q.sort = null, Q.write(!0);
			}), q(e, t);
		};
		Y(r, (e) => {
			Q.sort && e(i);
		});
		var a = V(r, 2), o = (e) => {
			var t = th(), n = z(t), r = z(n);
			ui(r);
			var i = V(r);
			M(n), M(t), H((e) => {
				fi(r, Q.flagged), J(i, ` only the ${e ?? ""}`);
			}, [() => Gs(Q.flags.length, "flagged row")]), fr("change", r, (e) => {
				Q.flagged = e.currentTarget.checked, Q.write(!0);
			}), q(e, t);
		};
		Y(a, (e) => {
			Q.flags.length && e(o);
		}), M(t), q(e, t);
	};
	Y(me, (e) => {
		(Q.where.length || Q.flags.length || Q.sort) && e(he);
	});
	var A = V(me, 2), ge = (e) => {
		var t = rh(), n = B(t, !0);
		H(() => J(n, G(i).message)), q(e, t);
	};
	Y(A, (e) => {
		G(i) && e(ge);
	}), M(se);
	var j = V(se, 2);
	let _e;
	var ve = z(j);
	let be;
	var xe = z(ve);
	Br(V(z(xe), 2), 19, () => G(m), (e) => e.name, (e, t, n) => {
		{
			let r = F(() => G(a)?.columns[G(t).name] ?? null);
			qm(e, {
				get column() {
					return G(t);
				},
				get width() {
					return G(h)[G(n)];
				},
				get head() {
					return G(r);
				}
			});
		}
	}), M(xe), M(ve);
	var Se = V(ve, 2);
	let Ce;
	Br(Se, 21, () => G(S), Ir, (e, t) => {
		let n = F(() => C(G(t))), r = F(() => G(n)?.batch.rows[G(n).place]);
		var i = oh();
		let a;
		var o = z(i), s = z(o, !0), u = V(s), d = (e) => {
			q(e, ih());
		}, f = F(() => G(r) != null && Q.flags.includes(G(r)));
		Y(u, (e) => {
			G(f) && e(d);
		}), M(o), Br(V(o, 2), 19, () => G(m), (e) => e.name, (e, t, r) => {
			let i = F(() => G(n)?.batch.value(G(t).name, G(n).place)), a = F(() => G(n)?.batch.types.get(G(t).name) ?? "");
			var o = ah();
			let s, c;
			var l = B(o, !0);
			H((e, t) => {
				s = Zr(o, 1, "cell", null, s, {
					right: e,
					null: G(n) && G(i) === null
				}), c = $r(o, "", c, { width: `${G(h)[G(r)] ?? ""}px` }), J(l, t);
			}, [() => Qs(G(t).type) && G(t).type !== "bool", () => G(n) ? ec(G(i), G(a)) : ""]), q(e, o);
		}), M(i), H((e) => {
			X(i, "id", `row-${G(t) ?? ""}`), X(i, "aria-rowindex", G(t) + 2), X(i, "aria-selected", G(t) === G(l)), a = $r(i, "", a, { transform: `translateY(${(G(t) - G(c)) * 30}px)` }), J(s, e);
		}, [() => G(r) == null ? "" : Ws(G(r))]), fr("click", i, () => {
			R(l, G(t), !0), re(G(t));
		}), q(e, i);
	}), M(Se);
	var we = V(Se, 2);
	let Te;
	M(j), Si(j, (e) => R(p, e), () => G(p));
	var Ee = V(j, 2), N = (e) => {
		q(e, sh());
	};
	Y(Ee, (e) => {
		G(r) === 0 && e(N);
	});
	var P = V(Ee, 2), De = (e) => {
		var t = ch(), n = B(t);
		H((e, t) => J(n, `heads: ${e ?? ""} of ${t ?? ""}`), [() => Ws(G(a).done), () => Gs(G(a).of, "row")]), q(e, t);
	};
	Y(P, (e) => {
		G(a) && G(a).done < G(a).of && e(De);
	}), H(() => {
		_e = Zr(j, 1, "grid", null, _e, { stale: G(f) }), X(j, "aria-label", `Rows of ${Q.info?.name ?? ""}`), X(j, "aria-rowcount", (G(r) ?? 0) + 1), X(j, "aria-colcount", G(m).length + 1), X(j, "aria-activedescendant", G(r) ? `row-${G(l)}` : void 0), be = $r(ve, "", be, { width: `${G(g) ?? ""}px` }), Ce = $r(Se, "", Ce, { width: `${G(g) ?? ""}px` }), Te = $r(we, "", Te, { height: `${G(y) ?? ""}px` });
	}), dr("submit", ce, ae), gi(le, () => G(d), (e) => R(d, e)), dr("scroll", j, T), fr("keydown", j, ne), bi(j, "clientHeight", (e) => R(u, e)), q(e, oe), Ie();
}
pr([
	"click",
	"change",
	"keydown"
]);
// src/App.svelte
var dh = K("<option> </option>"), fh = K("<select aria-label=\"Table\"></select>"), ph = K("<h1><!></h1> <p class=\"about\"><!> </p> <nav aria-label=\"Pages\"><button class=\"tab\">Rows</button> <button class=\"tab\">Row<!></button></nav> <!>", 1), mh = K("<div class=\"notice\" role=\"alert\"><h1> </h1> <p> </p></div>"), hh = K("<p class=\"notice\" role=\"status\">Opening …</p>"), gh = K("<header class=\"top\"><a class=\"mark\" href=\"/\" aria-label=\"Tetrys, all rows\"><img src=\"/icon.svg\" alt=\"\" width=\"22\" height=\"22\"/></a> <!></header> <main><!></main> <div class=\"toast\" role=\"status\" aria-live=\"polite\"> </div>", 1);
function _h(e, t) {
	Fe(t, !0);
	let n = L(null);
	Q.load().catch((e) => R(n, e, !0)), dn(() => {
		document.title = Q.info ? `${Q.info.name} · Tetrys` : "Tetrys";
	});
	var r = gh(), i = Qt(r), a = V(z(i), 2), o = (e) => {
		var t = ph(), n = Qt(t), r = z(n), i = (e) => {
			var t = fh();
			Br(t, 21, () => Q.tables, Ir, (e, t, n) => {
				var r = dh(), i = B(r, !0);
				r.value = r.__value = n, H(() => J(i, G(t).name)), q(e, r);
			}), M(t);
			var n;
			ri(t), H(() => {
				n !== (n = Q.table) && (t.value = (t.__value = n) ?? "", ni(t, n));
			}), fr("change", t, (e) => Q.choose(Number(e.currentTarget.value))), q(e, t);
		}, a = (e) => {
			var t = Cr();
			H(() => J(t, Q.info.name)), q(e, t);
		};
		Y(r, (e) => {
			Q.tables.length > 1 ? e(i) : e(a, -1);
		}), M(n);
		var o = V(n, 2), s = z(o), c = (e) => {
			q(e, Cr("a selection of"));
		};
		Y(s, (e) => {
			Q.info.selection && e(c);
		});
		var l = V(s);
		M(o);
		var u = V(o, 2), d = z(u), f = V(d, 2), p = V(z(f)), m = (e) => {
			var t = Cr();
			H((e) => J(t, ` ${e ?? ""}`), [() => Ws(Q.row)]), q(e, t);
		};
		Y(p, (e) => {
			Q.page === "row" && e(m);
		}), M(f), M(u), vc(V(u, 2), {}), H((e) => {
			J(l, ` ${Q.info.view ? "view, " : ""}version ${Q.info.version ?? ""} · ${e ?? ""}`), X(d, "aria-current", Q.page === "rows" ? "page" : void 0), X(f, "aria-current", Q.page === "row" ? "page" : void 0), f.disabled = !Q.info.rows;
		}, [() => Gs(Q.info.rows, "row")]), fr("click", d, () => Q.show("rows")), fr("click", f, () => Q.show("row")), q(e, t);
	};
	Y(a, (e) => {
		Q.info && e(o);
	}), M(i);
	var s = V(i, 2), c = z(s), l = (e) => {
		var t = mh(), r = z(t), i = B(r, !0), a = B(V(r, 2), !0);
		M(t), H(() => {
			J(i, G(n).kind === "Refused" ? "This page has no access" : "Nothing to show"), J(a, G(n).message);
		}), q(e, t);
	}, u = (e) => {
		q(e, hh());
	}, d = (e) => {
		var t = wr();
		Fr(Qt(t), () => Q.table, (e) => {
			Im(e, {});
		}), q(e, t);
	}, f = (e) => {
		var t = wr();
		Fr(Qt(t), () => Q.table, (e) => {
			uh(e, {});
		}), q(e, t);
	};
	Y(c, (e) => {
		G(n) ? e(l) : Q.info ? Q.page === "row" && Q.info.rows ? e(d, 2) : e(f, -1) : e(u, 1);
	}), M(s);
	var p = B(V(s, 2), !0);
	H(() => J(p, Q.said)), q(e, r), Ie();
}
// src/main.ts
pr(["change", "click"]), kr(_h, { target: document.getElementById("app") });
