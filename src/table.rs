//! The table: sizes nose to nose, rails, pockets, spots. Metres; frame of reference as in [`crate::space`].

use std::fmt;
use std::str::FromStr;

use crate::space::TablePoint;

/// A rail, named as seen by someone standing at the head rail and facing the foot rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rail {
    /// x = -length / 2
    Head,
    /// x = +length / 2
    Foot,
    /// y = +width / 2
    Left,
    /// y = -width / 2
    Right,
}

/// All four rails in a fixed order.
pub const RAILS: [Rail; 4] = [Rail::Head, Rail::Foot, Rail::Left, Rail::Right];

impl Rail {
    /// Unit vector from the bed toward this rail.
    pub fn outward(self) -> nalgebra::Vector2<f64> {
        match self {
            Self::Head => nalgebra::Vector2::new(-1.0, 0.0),
            Self::Foot => nalgebra::Vector2::new(1.0, 0.0),
            Self::Left => nalgebra::Vector2::new(0.0, 1.0),
            Self::Right => nalgebra::Vector2::new(0.0, -1.0),
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Foot => "foot",
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

impl fmt::Display for Rail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rail {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        RAILS
            .into_iter()
            .find(|r| r.name() == s)
            .ok_or_else(|| format!("'{s}' is not a rail: use head, foot, left or right"))
    }
}

/// A pocket of a pool table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Pocket {
    HeadLeft,
    HeadRight,
    SideLeft,
    SideRight,
    FootLeft,
    FootRight,
}

/// All six pockets in a fixed order.
pub const POCKETS: [Pocket; 6] = [
    Pocket::HeadLeft,
    Pocket::HeadRight,
    Pocket::SideLeft,
    Pocket::SideRight,
    Pocket::FootLeft,
    Pocket::FootRight,
];

impl Pocket {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeadLeft => "head_left",
            Self::HeadRight => "head_right",
            Self::SideLeft => "side_left",
            Self::SideRight => "side_right",
            Self::FootLeft => "foot_left",
            Self::FootRight => "foot_right",
        }
    }
}

impl fmt::Display for Pocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pocket {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        POCKETS
            .into_iter()
            .find(|p| p.name() == s)
            .ok_or_else(|| format!("'{s}' is not a pocket: use head_left, side_left, foot_right, …"))
    }
}

/// Sizes of a table and its balls, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// Playing surface along x, nose to nose.
    pub length_m: f64,
    /// Playing surface along y, nose to nose.
    pub width_m: f64,
    /// Ball radius.
    pub ball_radius_m: f64,
    /// Height of the cushion nose above the cloth.
    pub nose_height_m: f64,
    /// Width of the cloth-covered cushion, nose to the wooden frame.
    pub cushion_width_m: f64,
    /// Distance of the diamonds from the nose line, measured outward.
    pub diamond_offset_m: f64,
    /// Whether the table has six pockets.
    pub has_pockets: bool,
}

/// Nose height as a share of the ball diameter: 63 % (WPA equipment specification: 62.5 % +- 1 %).
const NOSE_HEIGHT_PER_DIAMETER: f64 = 0.63;

impl Table {
    /// International carom table, 2.84 x 1.42 m, balls of 61.5 mm (UMB world organisation rules, articles 11 and 12).
    pub const CAROM: Self = Self {
        length_m: 2.84,
        width_m: 1.42,
        ball_radius_m: 0.030_75,
        nose_height_m: NOSE_HEIGHT_PER_DIAMETER * 0.0615,
        cushion_width_m: 0.0508,
        diamond_offset_m: 0.0937,
        has_pockets: false,
    };

    /// Nine-foot pool table, 2.54 x 1.27 m, balls of 57.15 mm (WPA equipment specification).
    pub const POOL_9FT: Self = Self {
        length_m: 2.54,
        width_m: 1.27,
        ball_radius_m: 0.028_575,
        nose_height_m: NOSE_HEIGHT_PER_DIAMETER * 0.05715,
        cushion_width_m: 0.0508,
        diamond_offset_m: 0.0937,
        has_pockets: true,
    };

    /// Distance of a ball's centre from the nose line while it touches the rail.
    ///
    /// The nose is a little higher than the ball's centre, so the touch is not at the ball's widest place:
    /// sqrt(R^2 - (nose height - R)^2).
    pub fn rail_contact_distance_m(&self) -> f64 {
        let above_m = self.nose_height_m - self.ball_radius_m;
        (self.ball_radius_m * self.ball_radius_m - above_m * above_m).max(0.0).sqrt()
    }

    /// Signed distance from a ball's centre to the nose line of `rail`; positive on the bed.
    pub fn distance_to_nose_m(&self, at: TablePoint, rail: Rail) -> f64 {
        match rail {
            Rail::Head => at.x() + self.length_m / 2.0,
            Rail::Foot => self.length_m / 2.0 - at.x(),
            Rail::Left => self.width_m / 2.0 - at.y(),
            Rail::Right => at.y() + self.width_m / 2.0,
        }
    }

    /// Head spot: where the head string crosses the long string.
    pub fn head_spot(&self) -> TablePoint {
        TablePoint::new(-self.length_m / 4.0, 0.0)
    }

    /// Foot spot.
    pub fn foot_spot(&self) -> TablePoint {
        TablePoint::new(self.length_m / 4.0, 0.0)
    }

    /// Centre spot.
    pub fn center_spot(&self) -> TablePoint {
        TablePoint::new(0.0, 0.0)
    }
}
