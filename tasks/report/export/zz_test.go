package export_test
import ("testing";"os";"path/filepath";"bflow.dev/bflow/tasks/report/reporttest";"bflow.dev/bflow/tasks/report/export";"bflow.dev/bflow/tasks/runplan")
func TestZZ(t *testing.T){
 for name,run:=range map[string]reporttest.Run{"ok":{Rates:[]float64{20,40},Failing:.1,SLO:&runplan.SLO{Goodput:&runplan.Goodput{Min:.9,TTFT:1e8}}},"bad":{Failing:1,Rates:[]float64{10}}} {
 r:=built(t,run)
 for _,f:=range export.Formats(){ e,_:=export.New(f); fs,err:=e.Files(r); if err!=nil{t.Error(err)}
  for _,x:=range fs { p:=filepath.Join("/tmp/exp",name,f,x.Name); os.MkdirAll(filepath.Dir(p),0o755); o,_:=os.Create(p); if err:=x.Write(o);err!=nil{t.Error(err)}; o.Close()}}}
}
