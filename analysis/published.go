package analysis

// A publishedShare is the paper's share of stale entries in one regime, over
// 50 seeds on the 8×8 grid.
type publishedShare struct{ mean, sd, min, max float64 }

// publishedShares are the figures of arXiv 2608.04574, section 3.4 and
// appendix A. L3 is the final detection window.
var publishedShares = map[string]publishedShare{
	"L1": {0.094, 0.011, 0.078, 0.109},
	"L2": {0.141, 0.014, 0.109, 0.172},
	"L3": {0.143, 0.028, 0.078, 0.219},
}

// The size of grid and the number of seeds that the paper reports on.
const (
	publishedSide  = 8
	publishedSeeds = 50
)
