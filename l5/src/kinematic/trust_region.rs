//! Nonlinear least squares within bounds: the trust region reflective method of SciPy's `least_squares`.
//!
//! The method and its constants are those of SciPy (Branch, Coleman and Li 1999; Moré 1977), so the search takes the same steps and stops
//! at the same point. SciPy decomposes the scaled Jacobian by its singular values; here a Cholesky decomposition of the normal equations
//! gives the same step, which is accurate enough because the weights of the controls bound the condition.

use tetrys::{Error, Result};

/// SciPy's default tolerances for the cost, the step and the gradient.
const TOLERANCE: f64 = 1e-8;

/// A matrix, row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Matrix {
    values: Vec<f64>,
    columns: usize,
}

/// The smallest and the largest value of each variable.
pub(super) struct Bounds {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
}

impl Matrix {
    /// Makes a matrix of zeros.
    pub(super) fn resize(&mut self, rows: usize, columns: usize) {
        self.values.clear();
        self.values.resize(rows * columns, 0.0);
        self.columns = columns;
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.columns + column] = value;
    }

    #[cfg(test)]
    pub(super) fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.columns)
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.rows().map(|row| dot(row, vector)).collect()
    }

    fn transposed_times(&self, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.columns];
        for (row, factor) in self.rows().zip(vector) {
            out.iter_mut().zip(row).for_each(|(out, value)| *out += value * factor);
        }
        out
    }

    fn scale_columns(&self, scale: &[f64]) -> Self {
        let values = self.rows().flat_map(|row| row.iter().zip(scale).map(|(value, scale)| value * scale)).collect();
        Self { values, columns: self.columns }
    }

    /// Returns the product of the transposed matrix and the matrix, plus a diagonal.
    fn normal(&self, diagonal: &[f64]) -> Self {
        let mut out = Self::default();
        out.resize(self.columns, self.columns);
        for row in self.rows() {
            for (at, factor) in row.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
                let target = &mut out.values[at * self.columns..][..=at];
                target.iter_mut().zip(row).for_each(|(out, value)| *out += factor * value);
            }
        }
        diagonal.iter().enumerate().for_each(|(at, value)| out.values[at * self.columns + at] += value);
        out
    }

    /// Returns the lower triangle whose product with its transposed is this matrix plus `shift` on the diagonal. Only the lower triangle
    /// is read. Nothing if the matrix is not positive definite.
    fn cholesky(&self, shift: f64) -> Option<Self> {
        let (n, mut out) = (self.columns, self.clone());
        for row in 0..n {
            let (done, rest) = out.values.split_at_mut(row * n);
            for column in 0..row {
                let above = &done[column * n..][..=column];
                rest[column] = (rest[column] - dot(&above[..column], &rest[..column])) / above[column];
            }
            let square = rest[row] + shift - dot(&rest[..row], &rest[..row]);
            if square.is_nan() || square <= f64::EPSILON * (self.values[row * n + row] + shift) {
                return None;
            }
            rest[row] = square.sqrt();
        }
        Some(out)
    }

    /// Solves with this lower triangle.
    fn forward(&self, right: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = Vec::with_capacity(right.len());
        for (at, (row, right)) in self.rows().zip(right).enumerate() {
            out.push((right - dot(&row[..at], &out)) / row[at]);
        }
        out
    }

    /// Solves with the transposed of this lower triangle.
    fn backward(&self, mut right: Vec<f64>) -> Vec<f64> {
        for (at, row) in self.rows().enumerate().rev() {
            let value = right[at] / row[at];
            right[at] = value;
            right[..at].iter_mut().zip(row).for_each(|(right, factor)| *right -= factor * value);
        }
        right
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

fn map2(a: &[f64], b: &[f64], value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| value(*a, *b)).collect()
}

fn scaled(vector: &[f64], factor: f64) -> Vec<f64> {
    vector.iter().map(|value| value * factor).collect()
}

/// Minimises half the sum of the squares of `residuals` within bounds. Starts at zero, or at the bound that is nearest to zero.
///
/// # Errors
/// `Invalid` if a lower bound is not below the upper one, or if the residuals at the start are not finite. Errors of `residuals`.
pub(super) fn least_squares(
    bounds: &Bounds,
    residuals: impl Fn(&[f64], &mut Vec<f64>) -> Result<()>,
    jacobian: impl Fn(&[f64], &mut Matrix),
) -> Result<Vec<f64>> {
    for (lower, upper) in bounds.lower.iter().zip(&bounds.upper) {
        let are_in_order = lower < upper;
        if !are_in_order {
            return Err(Error::invalid(format!("bounds: expected a lower one below the upper one, found {lower} and {upper}")));
        }
    }
    let mut x = bounds.strictly_inside(bounds.pairs().map(|(lower, upper)| 0.0_f64.clamp(lower, upper)).collect(), 1e-10);
    let (mut f, mut f_new, mut jac) = (Vec::new(), Vec::new(), Matrix::default());
    residuals(&x, &mut f)?;
    if !f.iter().all(|value| value.is_finite()) {
        return Err(Error::invalid("the residuals at the start are not finite"));
    }
    jacobian(&x, &mut jac);
    let mut cost = 0.5 * dot(&f, &f);
    let mut gradient = jac.transposed_times(&f);
    let (mut radius, mut alpha, mut evaluations, mut done) = (bounds.first_radius(&x, &gradient), 0.0, 1, false);
    let most = 100 * x.len();
    loop {
        let (v, dv) = bounds.scaling(&x, &gradient);
        let optimality = map2(&gradient, &v, |g, v| (g * v).abs()).into_iter().fold(0.0, f64::max);
        if done || optimality < TOLERANCE || evaluations >= most {
            return Ok(x);
        }
        let d: Vec<f64> = v.iter().map(|v| v.sqrt()).collect();
        let diagonal = map2(&gradient, &dv, |g, dv| g * dv);
        let model = Model { jacobian: jac.scale_columns(&d), gradient: map2(&d, &gradient, |d, g| d * g), diagonal };
        let region = Region::new(&model);
        let theta = 0.995_f64.max(1.0 - optimality);
        let mut reduction = -1.0;
        while reduction <= 0.0 && evaluations < most {
            let (step, next_alpha) = region.solve(radius, alpha);
            alpha = next_alpha;
            let choice = model.select(bounds, &x, step, &d, radius, theta);
            let x_new = bounds.strictly_inside(map2(&x, &choice.step, |x, step| x + step), 0.0);
            residuals(&x_new, &mut f_new)?;
            evaluations += 1;
            let length = norm(&choice.scaled);
            if !f_new.iter().all(|value| value.is_finite()) {
                radius = 0.25 * length;
                continue;
            }
            let cost_new = 0.5 * dot(&f_new, &f_new);
            reduction = cost - cost_new;
            let ratio = match choice.reduction {
                predicted if predicted > 0.0 => reduction / predicted,
                predicted if predicted == 0.0 && reduction == 0.0 => 1.0,
                _ => 0.0,
            };
            let radius_new = match ratio {
                ratio if ratio < 0.25 => 0.25 * length,
                ratio if ratio > 0.75 && length > 0.95 * radius => 2.0 * radius,
                _ => radius,
            };
            let small_cost = reduction < TOLERANCE * cost && ratio > 0.25;
            done = small_cost || norm(&choice.step) < TOLERANCE * (TOLERANCE + norm(&x));
            if reduction > 0.0 {
                x = x_new;
                std::mem::swap(&mut f, &mut f_new);
                cost = cost_new;
                jacobian(&x, &mut jac);
                gradient = jac.transposed_times(&f);
            }
            if done {
                break;
            }
            alpha *= radius / radius_new;
            radius = radius_new;
        }
    }
}

impl Bounds {
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.lower.iter().copied().zip(self.upper.iter().copied())
    }

    fn contain(&self, x: &[f64]) -> bool {
        x.iter().zip(self.pairs()).all(|(x, (lower, upper))| *x >= lower && *x <= upper)
    }

    /// Moves values off the bounds: by a relative distance, or to the next number if `distance` is 0.
    fn strictly_inside(&self, mut x: Vec<f64>, distance: f64) -> Vec<f64> {
        for (x, (lower, upper)) in x.iter_mut().zip(self.pairs()) {
            let margin = |bound: f64| distance * bound.abs().max(1.0);
            let (below, above) = (*x - lower, upper - *x);
            if distance == 0.0 {
                // An upper bound wins over a lower one in SciPy.
                if *x >= upper {
                    *x = upper.next_down();
                } else if *x <= lower {
                    *x = lower.next_up();
                }
            } else if above <= below.min(margin(upper)) {
                *x = upper - margin(upper);
            } else if below <= above.min(margin(lower)) {
                *x = lower + margin(lower);
            }
            if *x < lower || *x > upper {
                *x = 0.5 * (lower + upper);
            }
        }
        x
    }

    /// Returns the distances to the bounds that the negative gradient points to (Coleman and Li), and their derivatives.
    fn scaling(&self, x: &[f64], gradient: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let one = |((x, g), (lower, upper)): ((&f64, &f64), (f64, f64))| match *g {
            g if g < 0.0 => (upper - x, -1.0),
            g if g > 0.0 => (x - lower, 1.0),
            _ => (1.0, 0.0),
        };
        x.iter().zip(gradient).zip(self.pairs()).map(one).unzip()
    }

    fn first_radius(&self, x: &[f64], gradient: &[f64]) -> f64 {
        let (v, _) = self.scaling(x, gradient);
        let radius = norm(&map2(x, &v, |x, v| x / v.sqrt()));
        if radius == 0.0 { 1.0 } else { radius }
    }

    /// Returns how often a step fits until it meets a bound, and for each variable how often.
    fn strides(&self, x: &[f64], step: &[f64]) -> (f64, Vec<f64>) {
        let one = |((x, step), (lower, upper)): ((&f64, &f64), (f64, f64))| match *step {
            0.0 => f64::INFINITY,
            step => ((lower - x) / step).max((upper - x) / step),
        };
        let strides: Vec<f64> = x.iter().zip(step).zip(self.pairs()).map(one).collect();
        (strides.iter().copied().fold(f64::INFINITY, f64::min), strides)
    }
}

/// The quadratic model of the cost in scaled variables.
struct Model {
    jacobian: Matrix,
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
}

/// A step in the variables and in scaled variables, and by how much the model expects it to reduce the cost.
struct Choice {
    step: Vec<f64>,
    scaled: Vec<f64>,
    reduction: f64,
}

impl Model {
    fn value(&self, step: &[f64]) -> f64 {
        let product = self.jacobian.times(step);
        0.5 * (dot(&product, &product) + self.bend(step, step)) + dot(step, &self.gradient)
    }

    fn bend(&self, a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(&self.diagonal).zip(b).map(|((a, diagonal), b)| a * diagonal * b).sum()
    }

    /// Minimises the model along `start + t * direction` for `t` between two numbers. Returns `t` and the value there.
    fn along(&self, start: Option<&[f64]>, direction: &[f64], least: f64, most: f64) -> (f64, f64) {
        let v = self.jacobian.times(direction);
        let a = 0.5 * (dot(&v, &v) + self.bend(direction, direction));
        let (mut b, mut c) = (dot(&self.gradient, direction), 0.0);
        if let Some(start) = start {
            let u = self.jacobian.times(start);
            b += dot(&u, &v) + self.bend(start, direction);
            c = 0.5 * (dot(&u, &u) + self.bend(start, start)) + dot(&self.gradient, start);
        }
        let value = |t: f64| (t, t * (a * t + b) + c);
        let (mut best, bottom) = (value(least), -0.5 * b / a);
        for t in [Some(most), (a != 0.0 && least < bottom && bottom < most).then_some(bottom)].into_iter().flatten() {
            if value(t).1 < best.1 {
                best = value(t);
            }
        }
        best
    }

    /// Chooses between the step back to the bound, its reflection at the bound, and the way down the gradient.
    fn select(&self, bounds: &Bounds, x: &[f64], step: Vec<f64>, d: &[f64], radius: f64, theta: f64) -> Choice {
        let unscaled =
            |step: Vec<f64>, value: f64| Choice { step: map2(d, &step, |d, s| d * s), scaled: step, reduction: -value };
        let p = map2(d, &step, |d, step| d * step);
        if bounds.contain(&map2(x, &p, |x, p| x + p)) {
            let value = self.value(&step);
            return unscaled(step, value);
        }
        let (stride, strides) = bounds.strides(x, &p);
        let mut reflected = step.clone();
        for ((value, own), p) in reflected.iter_mut().zip(&strides).zip(&p) {
            if *own == stride && *p != 0.0 {
                *value = -*value;
            }
        }
        let to_bound_step = scaled(&step, stride);
        let on_bound = map2(x, &p, |x, p| x + p * stride);
        let to_region = leave(&to_bound_step, &reflected, radius);
        let (to_bound, _) = bounds.strides(&on_bound, &map2(d, &reflected, |d, r| d * r));
        let most = to_bound.min(to_region);
        let (least, most) = match most {
            most if most > 0.0 => ((1.0 - theta) * stride / most, if most == to_bound { theta * to_bound } else { to_region }),
            _ => (0.0, -1.0),
        };
        let mut reflection = (Vec::new(), f64::INFINITY);
        if least <= most {
            let (t, value) = self.along(Some(&to_bound_step), &reflected, least, most);
            reflection = (map2(&reflected, &to_bound_step, |r, p| r * t + p), value);
        }
        let back = scaled(&to_bound_step, theta);
        let back_value = self.value(&back);
        let down = scaled(&self.gradient, -1.0);
        let to_region = radius / norm(&down);
        let (to_bound, _) = bounds.strides(x, &map2(d, &down, |d, down| d * down));
        let (t, down_value) = self.along(None, &down, 0.0, if to_bound < to_region { theta * to_bound } else { to_region });
        if back_value < reflection.1 && back_value < down_value {
            unscaled(back, back_value)
        } else if reflection.1 < back_value && reflection.1 < down_value {
            unscaled(reflection.0, reflection.1)
        } else {
            unscaled(scaled(&down, t), down_value)
        }
    }
}

/// Returns how often a direction fits until it leaves the trust region.
fn leave(from: &[f64], direction: &[f64], radius: f64) -> f64 {
    let (a, b) = (dot(direction, direction), dot(from, direction));
    let c = (dot(from, from) - radius * radius).min(0.0);
    let root = (b * b - a * c).sqrt();
    let q = -(b + root.copysign(b));
    (q / a).max(c / q)
}

/// The trust region problem for one Jacobian: the best step that is not longer than a radius.
struct Region<'a> {
    model: &'a Model,
    normal: Matrix,
    /// The decomposition of `normal`, if it has full rank.
    full: Option<Matrix>,
}

impl<'a> Region<'a> {
    fn new(model: &'a Model) -> Self {
        let normal = model.jacobian.normal(&model.diagonal);
        Self { full: normal.cholesky(0.0), normal, model }
    }

    /// Returns the step, how much longer than the radius it is, and the derivative of this difference.
    fn try_alpha(&self, factor: &Matrix, radius: f64) -> (Vec<f64>, f64, f64) {
        let step = scaled(&factor.backward(factor.forward(&self.model.gradient)), -1.0);
        let length = norm(&step);
        let half = factor.forward(&step);
        (step, length - radius, -dot(&half, &half) / length)
    }

    /// Returns the step and the number that was added to the diagonal to make it short enough (Moré).
    fn solve(&self, radius: f64, alpha: f64) -> (Vec<f64>, f64) {
        let (mut lower, mut upper) = (0.0, norm(&self.model.gradient) / radius);
        if let Some(full) = &self.full {
            let (step, difference, slope) = self.try_alpha(full, radius);
            if difference <= 0.0 {
                return (step, 0.0);
            }
            lower = -difference / slope;
        }
        let middle = |lower: f64, upper: f64| (0.001 * upper).max((lower * upper).sqrt());
        let mut alpha = if self.full.is_none() && alpha == 0.0 { middle(lower, upper) } else { alpha };
        let factor = |alpha: f64| self.normal.cholesky(alpha);
        for _ in 0..10 {
            if alpha < lower || alpha > upper {
                alpha = middle(lower, upper);
            }
            let Some(factor) = factor(alpha) else { break };
            let (_, difference, slope) = self.try_alpha(&factor, radius);
            if difference < 0.0 {
                upper = alpha;
            }
            let ratio = difference / slope;
            lower = lower.max(alpha - ratio);
            alpha -= (difference + radius) * ratio / radius;
            if difference.abs() < 0.01 * radius {
                break;
            }
        }
        let step = match factor(alpha) {
            Some(factor) => self.try_alpha(&factor, radius).0,
            None => scaled(&self.model.gradient, -1.0),
        };
        let length = norm(&step);
        (scaled(&step, radius / length), alpha)
    }
}
