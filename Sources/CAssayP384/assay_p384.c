#include "assay_p384.h"

#if defined(__x86_64__) || defined(__aarch64__)

#include "field.h"

typedef struct {
  Number x, y, z;
} JacobianPoint;

typedef struct {
  Number x, y;
} AffinePoint;

bool assay_p384_is_supported(void) { return has_instructions(); }

// The formulas of JacobianPoint.swift.

NUMBERS void assay_p384_double(void *point) {
  JacobianPoint *p = point;
  const Number delta = squared(&p->z);
  const Number gamma = squared(&p->y);
  const Number two_gamma = doubled(&gamma);
  const Number half_beta = multiplied(&p->x, &two_gamma);
  const Number beta = doubled(&half_beta);
  const Number below = subtracted(&p->x, &delta), above = added(&p->x, &delta);
  const Number difference = multiplied(&below, &above);
  const Number twice = doubled(&difference);
  const Number alpha = added(&twice, &difference);
  const Number square = squared(&alpha);
  const Number two_beta = doubled(&beta);
  const Number half_z = multiplied(&p->y, &p->z);
  const Number half_last = squared(&two_gamma);
  const Number last = doubled(&half_last);
  p->z = doubled(&half_z);
  p->x = subtracted(&square, &two_beta);
  const Number rest = subtracted(&beta, &p->x);
  const Number product = multiplied(&alpha, &rest);
  p->y = subtracted(&product, &last);
}

NUMBERS void assay_p384_add(void *point, const void *other) {
  JacobianPoint *p = point;
  const AffinePoint *q = other;
  const Number zz = squared(&p->z);
  const Number zzz = multiplied(&p->z, &zz);
  const Number x = multiplied(&q->x, &zz), y = multiplied(&q->y, &zzz);
  const Number h = subtracted(&x, &p->x), r = subtracted(&y, &p->y);
  const Number hh = squared(&h);
  const Number hhh = multiplied(&h, &hh);
  const Number v = multiplied(&p->x, &hh);
  const Number square = squared(&r);
  const Number two_v = doubled(&v);
  const Number without = subtracted(&square, &hhh);
  const Number last = multiplied(&p->y, &hhh);
  p->z = multiplied(&p->z, &h);
  p->x = subtracted(&without, &two_v);
  const Number rest = subtracted(&v, &p->x);
  const Number product = multiplied(&r, &rest);
  p->y = subtracted(&product, &last);
}

#else

bool assay_p384_is_supported(void) { return false; }

void assay_p384_double(void *point) {
  (void)point;
  __builtin_trap();
}

void assay_p384_add(void *point, const void *other) {
  (void)point, (void)other;
  __builtin_trap();
}

#endif
