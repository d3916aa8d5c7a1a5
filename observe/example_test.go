package observe_test

import (
	"fmt"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/observe"
)

func ExampleState_Text() {
	g, err := lake.Parse([]string{"SFFF", "FHFH", "FFFH", "HFFG"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := observe.State{Grid: g, Agent: lake.Pos{Row: 2, Col: 1}}
	fmt.Print(s.Text())
	// Output:
	// Row 0: (0,0)=S (0,1)=F (0,2)=F (0,3)=F
	// Row 1: (1,0)=F (1,1)=H (1,2)=F (1,3)=H
	// Row 2: (2,0)=F (2,1)=F (2,2)=F (2,3)=H
	// Row 3: (3,0)=H (3,1)=F (3,2)=F (3,3)=G
	// Agent at (2,1). Goal at (3,3).
}

func ExampleDecodePNG() {
	g, err := lake.Parse([]string{"SFFF", "FHFH", "FFFH", "HFFG"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := observe.State{Grid: g, Agent: lake.Pos{Row: 2, Col: 1}, Radius: 2}
	data, err := observe.EncodePNG(observe.Render(&s, nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	scene, err := observe.DecodePNG(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("agent at", scene.Agent)
	fmt.Println("sees (2,3):", scene.Sees(lake.Pos{Row: 2, Col: 3}), "and (3,3):", scene.Sees(lake.Pos{Row: 3, Col: 3}))
	fmt.Println(s.Visible())
	// Output:
	// agent at (2,1)
	// sees (2,3): true and (3,3): false
	// [0100 1110 1111 1110]
}
