//! Colours as light: what mixtures of cloth and ball look like, and a table that names the mixture of any sample.
//!
//! A sample is taken relative to black, so that less light on the same thing scales all three numbers, and a blurred edge
//! is a weighted mean of what lies on both sides.

use crate::ball::Ball;
use crate::units::Confidence;

/// A sample relative to black: luma, blue and red difference, levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Colour(pub [f32; 3]);

impl Colour {
    /// Black in limited range (ITU-R BT.601 and BT.709); in full range it is off by 16 levels, which scaling tolerates.
    pub const BLACK: [f32; 3] = [16.0, 128.0, 128.0];

    pub fn from_bytes(sample: [u8; 3]) -> Self {
        let [y, u, v] = sample.map(f32::from);
        Self([y - Self::BLACK[0], u - Self::BLACK[1], v - Self::BLACK[2]])
    }

    pub fn to_bytes(self) -> [u8; 3] {
        [0, 1, 2].map(|k| (self.0[k] + Self::BLACK[k]).round().clamp(0.0, 255.0) as u8)
    }

    pub fn scaled(self, s: f32) -> Self {
        Self(self.0.map(|v| v * s))
    }

    pub fn minus(self, other: Self) -> Self {
        Self([self.0[0] - other.0[0], self.0[1] - other.0[1], self.0[2] - other.0[2]])
    }

    /// Half way between two colours.
    pub fn mean(self, other: Self) -> Self {
        Self([0, 1, 2].map(|k| self.0[k].midpoint(other.0[k])))
    }

    /// Scalar product in units of `spread`.
    pub fn dot(self, other: Self, spread: [f32; 3]) -> f32 {
        (0..3).map(|k| self.0[k] * other.0[k] / (spread[k] * spread[k])).sum()
    }

    /// Saturation as video has it: length of the colour difference, levels.
    fn chroma(self) -> f32 {
        self.0[1].hypot(self.0[2])
    }

    /// How red against yellow: red raises V and hardly lowers U, yellow lowers U.
    fn redness(self) -> f32 {
        self.0[2] + self.0[1] / 2.0
    }
}

/// What a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Cloth, in light or shadow.
    Cloth,
    /// The ball of this place in the palette.
    Kind(u8),
    /// Neither: skin, cue, chalk, graphics.
    Other,
}

/// Class and share of the ball in the sample, 0..=255.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mixture {
    pub class: Class,
    pub share: u8,
}

/// A mixture that is nothing but cloth.
pub(super) const CLOTH: Mixture = Mixture {
    class: Class::Cloth,
    share: 0,
};

/// Spread of cloth around its scaled colour, levels of luma and chroma, in video with a coder's usual noise: weave, wear,
/// chalk. Places that always differ are known from the samples.
const CLOTH_SPREAD: [f32; 3] = [9.0, 2.5, 2.5];
/// Spread of a ball around its scaled colour: shading, reflections of the lamps, coded chroma.
const BALL_SPREAD: [f32; 3] = [14.0, 8.0, 8.0];
/// Brightness of cloth against the learnt colour: shadows down to a third, nothing brighter than a sixth more.
const CLOTH_SCALE: std::ops::RangeInclusive<f32> = 0.3..=1.17;
/// Relative spread of the light on a ball: its lower limb is darker than its top.
const SHADING: f32 = 0.25;
/// Brightness of a ball's middle against the learnt colour: from a player's shadow to the place under a lamp.
const BALL_SCALE: std::ops::RangeInclusive<f32> = 0.55..=1.5;
/// Squared distance in spreads within which a sample is cloth, and within which it is a ball (3 and 3.5 deviations).
const CLOTH_LIMIT: f32 = 9.0;
const BALL_LIMIT: f32 = 12.0;
/// The same for cloth at a ball's foot (4.5 deviations).
const SHADOWED_CLOTH_LIMIT: f32 = 20.0;
/// Least share of a ball worth calling one: below lies coder noise around edges.
const LEAST_SHARE: f32 = 0.2;

/// How much of its main colour and of its spots' a ball shows, areas of the ball at rest, and how badly both fit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Makeup {
    pub own: f64,
    pub spots: f64,
    /// What own colour, spots and cloth do not explain, deviations of a ball's colour.
    pub strangeness: f64,
}

/// Own colour that a ball shows, areas of a ball: its dark limb is lost, a lamp's reflection adds to it.
const OWN_SHOWN: std::ops::Range<f64> = 0.25..1.6;
/// Spots over own colour: those of tournament balls cover a fifth of the ball, two of them side by side two fifths of what
/// is seen of it.
const MOST_SPOTS_SHOWN: f64 = 0.5;
/// Deviations of a ball's colour that the light of a whole ball may lie off, its area known to a tenth.
const STRANGE_MAKEUP: f64 = 0.6;

impl Makeup {
    /// Whether this is a whole ball and nothing else.
    pub fn is_ball(&self) -> bool {
        OWN_SHOWN.contains(&self.own) && self.spots <= MOST_SPOTS_SHOWN * self.own && self.strangeness < STRANGE_MAKEUP
    }
}

/// Bits dropped from luma, blue and red difference in the table.
const DROP: [u32; 3] = [3, 2, 2];

/// The colours of one recording: cloth and balls.
pub(super) struct Palette {
    pub cloth: Colour,
    pub kinds: Vec<(Ball, Colour)>,
    table: Vec<Mixture>,
}

impl Palette {
    pub fn new(cloth: Colour, kinds: Vec<(Ball, Colour)>) -> Self {
        let mut palette = Self {
            cloth,
            kinds,
            table: Vec::new(),
        };
        let axis = |drop: u32| (0..256_u32 >> drop).map(move |i| ((i << drop) + (1 << drop) / 2) as u8);
        for y in axis(DROP[0]) {
            for u in axis(DROP[1]) {
                for v in axis(DROP[2]) {
                    let mixture = palette.mixture_of(Colour::from_bytes([y, u, v]));
                    palette.table.push(mixture);
                }
            }
        }
        palette
    }

    /// Whether a colour is cloth, perhaps in the shadow at a ball's foot, where chroma is off by more than on open cloth.
    pub fn is_cloth_beside_ball(&self, colour: Colour) -> bool {
        cloth_distance(self.cloth, colour) < SHADOWED_CLOTH_LIMIT
    }

    /// Distance of a colour, of which `share` is the ball and the rest cloth, from a kind's in the light that fits best;
    /// deviations of a ball's colour.
    pub fn distance_to_kind(&self, kind: u8, colour: Colour, share: f32) -> f64 {
        let colour = colour.minus(self.cloth.scaled(1.0 - share)).scaled(1.0 / share);
        self.kinds.get(usize::from(kind)).map_or(f64::INFINITY, |(_, ball)| {
            let scale = colour.dot(*ball, BALL_SPREAD) / ball.dot(*ball, BALL_SPREAD).max(f32::MIN_POSITIVE);
            let d = colour.minus(ball.scaled(scale.clamp(*BALL_SCALE.start(), *BALL_SCALE.end())));
            f64::from(d.dot(d, BALL_SPREAD).sqrt())
        })
    }

    /// Whether balls of `kind` come with spots of the colour of `other`: red ones on white and yellow, white ones on red.
    pub fn may_be_spot(&self, kind: u8, other: u8) -> bool {
        let ball = |k: u8| self.kinds.get(usize::from(k)).map(|&(ball, _)| ball);
        match (ball(kind), ball(other)) {
            (Some(Ball::White | Ball::Yellow), Some(Ball::Red)) => true,
            (Some(Ball::Red), Some(other)) => other == Ball::White,
            _ => false,
        }
    }

    /// What mixture of a kind's colour and its spots' over cloth makes this light: mean over a ball's area of the light
    /// beyond the cloth's. Least squares in deviations of a ball's colour.
    pub fn makeup(&self, kind: u8, excess: Colour) -> Makeup {
        let beyond = |k: u8| self.kinds.get(usize::from(k)).map(|(_, c)| c.minus(self.cloth));
        let Some(own) = beyond(kind) else {
            return Makeup::default();
        };
        let fit = |spot: Colour| {
            let dot = |a: Colour, b: Colour| f64::from(a.dot(b, BALL_SPREAD));
            let (oo, os, ss) = (dot(own, own), dot(own, spot), dot(spot, spot));
            let (oe, se) = (dot(own, excess), dot(spot, excess));
            let det = oo * ss - os * os;
            let (mut a, mut b) = ((oe * ss - se * os) / det, (se * oo - oe * os) / det);
            // No spot in sight, or the two colours cannot be told apart.
            if !(det > f64::from(f32::EPSILON) * oo * ss && b > 0.0) {
                (a, b) = (oe / oo.max(f64::MIN_POSITIVE), 0.0);
            }
            let rest = excess.minus(own.scaled(a as f32)).minus(spot.scaled(b as f32));
            Makeup {
                own: a,
                spots: b,
                strangeness: dot(rest, rest).sqrt(),
            }
        };
        let spots = (0..self.kinds.len() as u8)
            .filter(|&k| self.may_be_spot(kind, k))
            .filter_map(beyond);
        spots
            .map(fit)
            .min_by(|a, b| a.strangeness.total_cmp(&b.strangeness))
            .unwrap_or_default()
    }

    /// Distance between a kind's colour and the cloth's, deviations of a ball's colour.
    pub fn distance_to_cloth(&self, kind: u8) -> f64 {
        self.kinds.get(usize::from(kind)).map_or(0.0, |(_, ball)| {
            let d = ball.minus(self.cloth);
            f64::from(d.dot(d, BALL_SPREAD).sqrt())
        })
    }

    /// Class of a colour in the learnt light anywhere on the table.
    pub fn classify(&self, colour: Colour) -> Class {
        if is_foreground(self.cloth, colour) {
            self.mixture(colour.to_bytes()).class
        } else {
            Class::Cloth
        }
    }

    /// What mixture of ball and cloth a sample shows, in the learnt light, where it is known not to be cloth alone.
    pub fn mixture(&self, sample: [u8; 3]) -> Mixture {
        let [y, u, v] = [0, 1, 2].map(|k| usize::from(sample[k]) >> DROP[k]);
        let index = (y << (16 - DROP[1] - DROP[2])) | (u << (8 - DROP[2])) | v;
        self.table.get(index).copied().unwrap_or(CLOTH)
    }

    fn mixture_of(&self, sample: Colour) -> Mixture {
        let mut best = (
            BALL_LIMIT,
            Mixture {
                class: Class::Other,
                share: 255,
            },
        );
        for (i, &(_, ball)) in self.kinds.iter().enumerate() {
            let (distance, share) = unmix(self.cloth, ball, sample);
            if distance < best.0 {
                let class = Class::Kind(i as u8);
                let share = (share * 255.0).round() as u8;
                best = (distance, Mixture { class, share });
            }
        }
        match best.1 {
            Mixture {
                class: Class::Kind(_),
                share,
            } if f32::from(share) < LEAST_SHARE * 255.0 => CLOTH,
            mixture => mixture,
        }
    }

    /// Kinds ranked by how well a ball's mean colour fits, with their probabilities.
    pub fn rank(&self, weights: &[f64]) -> Vec<(Ball, Confidence)> {
        /// Share of a ball's samples that look like another kind anyway: spots, reflections, mixed edges.
        const MISLEADING: f64 = 0.02;
        let total: f64 = weights.iter().map(|w| w + MISLEADING * weights.iter().sum::<f64>()).sum();
        let mut ranked: Vec<(Ball, Confidence)> = self
            .kinds
            .iter()
            .zip(weights)
            .map(|(&(ball, _), w)| {
                let smoothed = w + MISLEADING * weights.iter().sum::<f64>();
                (ball, Confidence::new(smoothed / total.max(f64::MIN_POSITIVE)))
            })
            .collect();
        ranked.sort_by(|a, b| b.1.get().total_cmp(&a.1.get()));
        ranked
    }
}

/// Squared distance of a sample from cloth in any light, in spreads.
pub(super) fn cloth_distance(cloth: Colour, sample: Colour) -> f32 {
    let scale = sample.dot(cloth, CLOTH_SPREAD) / cloth.dot(cloth, CLOTH_SPREAD).max(f32::MIN_POSITIVE);
    let d = sample.minus(cloth.scaled(scale.clamp(*CLOTH_SCALE.start(), *CLOTH_SCALE.end())));
    d.dot(d, CLOTH_SPREAD)
}

/// Whether a sample in the learnt light is not the cloth given.
pub(super) fn is_foreground(cloth: Colour, sample: Colour) -> bool {
    cloth_distance(cloth, sample) >= CLOTH_LIMIT
}

/// Best mixture of ball and cloth for a sample: squared distance in spreads, and the ball's share 0..=1.
///
/// Least squares over the amounts of light from ball and cloth, neither negative, whose sum is 1 give or take [`SHADING`].
fn unmix(cloth: Colour, ball: Colour, sample: Colour) -> (f32, f32) {
    let w = 1.0 / (SHADING * SHADING);
    let bb = ball.dot(ball, BALL_SPREAD) + w;
    let cc = cloth.dot(cloth, BALL_SPREAD) + w;
    let bc = ball.dot(cloth, BALL_SPREAD) + w;
    let (bs, cs) = (ball.dot(sample, BALL_SPREAD) + w, cloth.dot(sample, BALL_SPREAD) + w);
    let det = bb * cc - bc * bc;
    let (mut a, mut m) = if det > f32::EPSILON * bb * cc {
        ((bs * cc - cs * bc) / det, (cs * bb - bs * bc) / det)
    } else {
        (bs / bb, 0.0)
    };
    if m < 0.0 {
        (a, m) = ((bs / bb).max(0.0), 0.0);
    } else if a < 0.0 {
        (a, m) = (0.0, (cs / cc).max(0.0));
    }
    let d = sample.minus(ball.scaled(a)).minus(cloth.scaled(m));
    let light = (a + m - 1.0) / SHADING;
    (d.dot(d, BALL_SPREAD) + light * light, a / (a + m).max(f32::EPSILON))
}

/// Typical colours of carom balls under table lamps, for a kind that no sample shows: BT.709 levels of a cream white, a
/// lemon yellow and a crimson ball at medium exposure. Learnt colours replace them.
fn typical(ball: Ball) -> Option<Colour> {
    match ball {
        Ball::White => Some(Colour([190.0, -6.0, 3.0])),
        Ball::Yellow => Some(Colour([155.0, -66.0, 26.0])),
        Ball::Red => Some(Colour([52.0, -14.0, 66.0])),
        Ball::Cue | Ball::Numbered(_) => None,
    }
}

/// The typical colours of carom balls.
pub(super) fn typical_kinds(balls: &[Ball]) -> Vec<(Ball, Colour)> {
    balls.iter().filter_map(|&b| Some((b, typical(b)?))).collect()
}

/// Learns the colours of the balls from ball-sized blobs, one list for each sample frame. A kind that no blob resembles
/// keeps the colour it has.
///
/// Blobs of nearly the cloth's colour are folds, sleeves or shadows, not balls: they are left out.
pub(super) fn learn_kinds(cloth: Colour, mut kinds: Vec<(Ball, Colour)>, blobs: &[Vec<Colour>]) -> Vec<(Ball, Colour)> {
    /// Rounds of giving each blob to its nearest kind; the medians do not move after two.
    const ROUNDS: usize = 3;
    /// Distance beyond which a blob is none of the balls, in the ball's spreads; a sleeve or a hand may be ball-sized.
    const FAR: f32 = 6.0;
    /// Least distance from the cloth, in a ball's spreads; a crimson ball on burgundy cloth has 3.4.
    const UNLIKE_CLOTH: f32 = 2.5;
    let unlike = |c: &Colour| c.minus(cloth).dot(c.minus(cloth), BALL_SPREAD) > UNLIKE_CLOTH * UNLIKE_CLOTH;
    let blobs: Vec<Vec<Colour>> = blobs.iter().map(|b| b.iter().copied().filter(unlike).collect()).collect();
    let told: Vec<[(Ball, Colour); 3]> = blobs.iter().filter_map(|b| tell_three(b)).collect();
    for (ball, colour) in &mut kinds {
        let of_ball = |three: &[(Ball, Colour); 3]| three.iter().find(|(b, _)| b == ball).map(|&(_, c)| c);
        if let Some(m) = median_colour(&told.iter().filter_map(of_ball).collect::<Vec<_>>()) {
            *colour = m;
        }
    }
    for _ in 0..ROUNDS {
        let mut members: Vec<Vec<Colour>> = vec![Vec::new(); kinds.len()];
        for &blob in blobs.iter().flatten() {
            let distance = |c: Colour| blob.minus(c).dot(blob.minus(c), BALL_SPREAD);
            let nearest = (0..kinds.len()).min_by(|&i, &j| distance(kinds[i].1).total_cmp(&distance(kinds[j].1)));
            if let Some(i) = nearest.filter(|&i| distance(kinds[i].1) < FAR * FAR) {
                members[i].push(blob);
            }
        }
        for ((_, colour), members) in kinds.iter_mut().zip(&members) {
            *colour = median_colour(members).unwrap_or(*colour);
        }
    }
    kinds
}

/// Names the balls of a frame with exactly three blobs by comparing them with each other: the reddest is red; of the
/// other two the less saturated is white.
fn tell_three(blobs: &[Colour]) -> Option<[(Ball, Colour); 3]> {
    let &[a, b, c] = blobs else { return None };
    let mut order = [a, b, c];
    order.sort_by(|p, q| q.redness().total_cmp(&p.redness()));
    let [red, p, q] = order;
    let (white, yellow) = if p.chroma() < q.chroma() { (p, q) } else { (q, p) };
    Some([(Ball::White, white), (Ball::Yellow, yellow), (Ball::Red, red)])
}

/// Median of each number; `None` for no colours.
pub(super) fn median_colour(colours: &[Colour]) -> Option<Colour> {
    if colours.is_empty() {
        return None;
    }
    Some(Colour([0, 1, 2].map(|k| {
        let mut values: Vec<f32> = colours.iter().map(|c| c.0[k]).collect();
        values.sort_by(f32::total_cmp);
        values[values.len() / 2]
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLUE: Colour = Colour([80.0, 40.0, -36.0]);

    fn palette() -> Palette {
        Palette::new(BLUE, typical_kinds(&crate::ball::CAROM_BALLS))
    }

    #[test]
    fn cloth_in_half_shadow_is_cloth() {
        assert_eq!(palette().classify(BLUE.scaled(0.5)), Class::Cloth);
    }

    #[test]
    fn a_blurred_edge_is_a_share_of_its_ball() {
        let palette = palette();
        for (i, &(ball, colour)) in palette.kinds.iter().enumerate() {
            let mixed = Colour([0, 1, 2].map(|k| 0.6 * colour.0[k] + 0.4 * BLUE.0[k]));
            let m = palette.mixture(mixed.to_bytes());
            assert_eq!(m.class, Class::Kind(i as u8), "{ball}");
            assert!((f32::from(m.share) / 255.0 - 0.6).abs() < 0.15, "{ball}: share {}", m.share);
        }
    }

    #[test]
    fn an_orange_yellow_and_a_cream_white_are_told_by_comparison() {
        let (cream, orange, red) = (
            Colour([211.0, -20.0, 3.0]),
            Colour([172.0, -32.0, 30.0]),
            Colour([104.0, -15.0, 70.0]),
        );
        let kinds = learn_kinds(BLUE, typical_kinds(&crate::ball::CAROM_BALLS), &[vec![orange, red, cream]]);
        assert_eq!(kinds, [(Ball::White, cream), (Ball::Yellow, orange), (Ball::Red, red)]);
    }
}
