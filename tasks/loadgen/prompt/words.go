package prompt

import "strings"

// Words returns short common English words: in the vocabularies in use each is one token behind a space.
func Words() []string { return strings.Fields(wordList) }

const wordList = `
able about above act add after again age ago air all also always am among an and animal answer any are area arm art as
ask at away baby back bad ball bank base be bear beat bed been before begin behind best better big bird black blood
blue board boat body book born both box boy bring brother brown build burn busy but buy by call came can car card care
carry case cat cause change child city class clean clear close cloud cold color come common cook cool copy corn could
count country course cover cross cry cut dark date day dead deal dear deep desk did die do doctor dog done door down
draw dream dress drink drive drop dry during each ear early earth east easy eat edge egg eight end engine enough even
ever every eye face fact fair fall family far farm fast father fear feel feet few field fight fill final find fine
finger fire first fish five flat floor flow flower fly follow food foot for force form four free fresh friend from
front full game garden gas gave get girl give glass go gold good got grand grass great green ground group grow had hair
half hand hard has hat have he head hear heart heat heavy help her here high hill him his hold home hope horse hot hour
house how huge human ice idea if in iron is island it job join jump just keep key kind king knew know lady lake land
large last late laugh law lay lead learn leave left leg less let letter level life lift light like line list little
live long look lost lot loud love low made main make man many map mark may me mean meat meet men met mile milk mind
mine minute miss money month moon more most mother mountain move much music must my name near neck need never new next
night nine no noise north nose not note nothing now number ocean of off office often oil old on once one only open or
order other our out over own page paint pair paper park part party pass past pay people perhaps piece place plain plan
plane plant play please point poor power press pretty price pull push put queen quick quiet race rain ran reach read
ready real red rest rich ride right ring rise river road rock roll room rose round row rule run safe said sail salt
same sand sat save saw say school sea seat second see seed seem sell send sense sent set seven shall shape she ship
shoe shop short should show side sign silver simple since sing sister sit six size skin sky sleep slow small smile snow
so soft soil some son song soon sort sound south space speak spring stand star start state stay step still stone stood
stop store story street strong such sugar summer sun sure swim table tail take talk tall teach team tell ten test than
that the them then there these they thing think this those three through time to today too took top toward town trade
train tree trip true try turn two type under until up us use very view visit voice wait walk wall want war warm was
wash watch water wave way we week well went were west what wheel when where which white who whole why wide wife wild
will win wind window winter wish with woman wonder wood word work world would write year yellow yes yet you young your
`
