//! The metrics of closed-loop evaluation: whether a car hits another one and where, and how far it is from a reference.

/// A car seen from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Car {
    /// The position of its centre, in metres.
    pub centroid: [f64; 2],
    /// Its heading, in radians.
    pub yaw: f64,
    /// Its length and width, in metres.
    pub extent: [f64; 2],
}

/// The side of the ego car that another car touches along the greatest length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collision {
    /// The front bumper.
    Front = 0,
    /// The rear bumper.
    Rear = 1,
    /// The left or the right side.
    Side = 2,
}

/// Returns the first of other cars that the ego car overlaps or touches, and with which side: `detect_collision`.
///
/// A car that lies wholly within the ego car touches no side; as in L5Kit, this counts as a front collision.
///
/// ```
/// use tetrys_l5::evaluation::closed_loop::{Car, Collision, detect_collision};
/// let ego = Car { centroid: [0.0, 0.0], yaw: 0.0, extent: [4.0, 2.0] };
/// let ahead = Car { centroid: [3.5, 0.0], ..ego };
/// let far = Car { centroid: [30.0, 0.0], ..ego };
/// assert_eq!(detect_collision(&ego, &[far, ahead]), Some((Collision::Front, 1)));
/// ```
pub fn detect_collision(ego: &Car, others: &[Car]) -> Option<(Collision, usize)> {
    let hit = others.iter().position(|other| is_within_range(ego, other) && overlaps(ego, other))?;
    let [front_left, front_right, rear_right, rear_left] = ego.corners();
    let sides = [(front_left, front_right), (rear_right, rear_left), (front_left, rear_left), (front_right, rear_right)];
    let mut longest = (0, 0.0);
    for (side, (from, to)) in sides.into_iter().enumerate() {
        let length = others[hit].length_within(from, to);
        if length > longest.1 {
            longest = (side, length);
        }
    }
    let collision = [Collision::Front, Collision::Rear, Collision::Side, Collision::Side][longest.0];
    Some((collision, hit))
}

/// Returns the distance from a position to the nearest point of a reference, in metres: `distance_to_reference_trajectory`.
///
/// It is nothing if the reference has no points.
pub fn distance_to_reference_trajectory(centroid: [f64; 2], reference: &[[f64; 2]]) -> Option<f64> {
    reference.iter().map(|point| (centroid[0] - point[0]).hypot(centroid[1] - point[1])).reduce(f64::min)
}

impl Car {
    /// Returns the corners: front left, front right, rear right and rear left.
    fn corners(&self) -> [[f64; 2]; 4] {
        let [length, width] = self.extent.map(|side| side / 2.0);
        [[length, width], [length, -width], [-length, -width], [-length, width]].map(|corner| self.to_world(corner))
    }

    fn to_world(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.yaw.sin_cos();
        [self.centroid[0] + x * cos - y * sin, self.centroid[1] + x * sin + y * cos]
    }

    /// Returns a position of the world in the frame of the car.
    fn to_local(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.yaw.sin_cos();
        let [x, y] = [x - self.centroid[0], y - self.centroid[1]];
        [x * cos + y * sin, y * cos - x * sin]
    }

    /// Returns the length of a line that lies within the car.
    fn length_within(&self, from: [f64; 2], to: [f64; 2]) -> f64 {
        let (from, to) = (self.to_local(from), self.to_local(to));
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for axis in 0..2 {
            let (half, step) = (self.extent[axis] / 2.0, to[axis] - from[axis]);
            if step == 0.0 {
                if from[axis].abs() > half {
                    return 0.0;
                }
                continue;
            }
            let (a, b) = ((-half - from[axis]) / step, (half - from[axis]) / step);
            enters = enters.max(a.min(b));
            leaves = leaves.min(a.max(b));
        }
        (leaves - enters).max(0.0) * (to[0] - from[0]).hypot(to[1] - from[1])
    }

    /// Whether all given positions lie beyond one of the sides of the car.
    fn is_apart_from(&self, positions: [[f64; 2]; 4]) -> bool {
        let local = positions.map(|position| self.to_local(position));
        (0..2).any(|axis| {
            let half = self.extent[axis] / 2.0;
            local.iter().all(|position| position[axis] > half) || local.iter().all(|position| position[axis] < -half)
        })
    }
}

/// Whether two cars overlap or touch: no line along a side of one of them parts them.
fn overlaps(a: &Car, b: &Car) -> bool {
    !a.is_apart_from(b.corners()) && !b.is_apart_from(a.corners())
}

/// Whether two cars are near enough to overlap, by their diagonals.
fn is_within_range(a: &Car, b: &Car) -> bool {
    let [a_diagonal, b_diagonal] = [a, b].map(|car| car.extent[0].hypot(car.extent[1]));
    (a.centroid[0] - b.centroid[0]).hypot(a.centroid[1] - b.centroid[1]) < 0.5 * (a_diagonal + b_diagonal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collisions of 400 random pairs: `.` for none, otherwise the number of the side. Computed with Shapely 2.
    const EXPECTED: &str = "2120...0...2.2..221.22.1.22.2....1.2......22.1220...0.0......0..2...222......2.....122.22........0..\
        1..02..1..22..22.02.1.2...2.2122.202.2..0222.22...222120..0..2..2222...00.2........2..1...02..0...0.\
        2...2..222212.2212..010..1.0.22..2.12..22012201.22.01.2.22...2...0.0221122...2222.22.2.2.2...222...0\
        21.2221.1....212.2..02.1.2..0.22.0.2..2...02..2.0..00...2..122..2......0.10.1.2.....12..2..222022121";

    #[test]
    fn collisions_are_those_of_polygons() {
        let mut state = 1_u64;
        let mut next = |scale: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (((state >> 33) % 2001) as f64 - 1000.0) / 1000.0 * scale
        };
        let mut car = |spread: f64| {
            let centroid = [next(spread), next(spread)];
            let yaw = next(4.0);
            Car { centroid, yaw, extent: [3.5 + next(3.0), 2.0 + next(1.5)] }
        };
        let found: String = (0..400)
            .map(|_| {
                let (ego, other) = (car(1.0), car(4.0));
                detect_collision(&ego, &[other]).map_or('.', |(collision, _)| char::from(b'0' + collision as u8))
            })
            .collect();
        assert_eq!(found, EXPECTED);
    }

    #[test]
    fn the_distance_is_that_of_the_nearest_point() {
        assert_eq!(distance_to_reference_trajectory([0.0, 0.0], &[[9.0, 0.0], [3.0, 4.0]]), Some(5.0));
        assert_eq!(distance_to_reference_trajectory([0.0, 0.0], &[]), None);
    }
}
