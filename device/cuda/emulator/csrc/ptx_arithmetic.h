// Handlers of instructions that compute on registers alone.
#pragma once
#include "ptx_frame.h"

namespace ptx {

// Op::of computes one thread's result.
template <class Op, class D, class A> void op1(Frame &f, const Instr &in) {
    const A *a = f.source<A>(in.op[1], 0);
    each(f, f.row<D>(in.op[0]), [=](int i) { return static_cast<D>(Op::of(a[i])); });
}

template <class Op, class D, class A, class B> void op2(Frame &f, const Instr &in) {
    const A *a = f.source<A>(in.op[1], 0);
    if (in.op[2].immediate()) {
        const B b = Frame::valueOf<B>(in.op[2]);
        each(f, f.row<D>(in.op[0]), [=](int i) { return static_cast<D>(Op::of(a[i], b)); });
        return;
    }
    const B *b = f.row<B>(in.op[2]);
    each(f, f.row<D>(in.op[0]), [=](int i) { return static_cast<D>(Op::of(a[i], b[i])); });
}

template <class Op, class D, class A, class B, class C> void op3(Frame &f, const Instr &in) {
    const A *a = f.source<A>(in.op[1], 0);
    const B *b = f.source<B>(in.op[2], 1);
    if (in.op[3].immediate()) {
        const C c = Frame::valueOf<C>(in.op[3]);
        each(f, f.row<D>(in.op[0]), [=](int i) { return static_cast<D>(Op::of(a[i], b[i], c)); });
        return;
    }
    const C *c = f.row<C>(in.op[3]);
    each(f, f.row<D>(in.op[0]), [=](int i) { return static_cast<D>(Op::of(a[i], b[i], c[i])); });
}

} // namespace ptx
