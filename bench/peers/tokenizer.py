"""Writes a small tokenizer into the folder argv[1]: byte-level BPE, so that every text has tokens and none is unknown.

The unknown token of a tokenizer must not be a special token: GuideLLM decodes without special tokens and would send
empty prompts. The tokenizer must not need a network either, and all tools must share it.
"""
import json
import os
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

WORDS = """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so said what up its about
into than them can only other new some could time these two may then do first any my now such like our over man me even
most made after also did many before must through back years where much your way well down should because each just
those people how too little state good very make world still own see men work long get here between both life being
under never day same another know while last might us great old year off come since against go came right used take
three himself few house use during without again place around however home small found thought went say part once
general high upon school every does got united left number course war until always away something fact water though
less public put think almost hand enough far took head yet government system better set told nothing night end why
called eyes find going look asked later knew point next program city business give group toward young days let room
side social given present several order national possible rather second face per among form important often things
looked early white case large four big within children along area power interest church become whole word money paper
company student policy science research teacher market result health thousand kind question rest list listen machine
practice political economy education evening experience family figure finger follow foreign friend garden glass ground
history hospital include increase industry information international investment language lawyer leader letter magazine
management material measure media medical meeting member memory method military million minute mission model modern
moment morning mother mouth movement music nation nature network newspaper north officer operation opportunity office
organization owner parent particular partner party patient pattern peace performance period person phone picture plan
player police population position president pressure price private problem process produce product production professor
property protect prove provide purpose quality quickly radio reach reality realize reason receive recent recognize
record reduce reflect region relate relationship religious remain remember remove represent require resource respond
response responsibility reveal rich risk road role scene season seat section security seek sense series serious serve
service seven sexual shoulder sign significant similar simple single sister site situation skill society soldier song
sound source south southern space speak special specific speech spend sport spring staff stage stand standard star
start statement station step stock stop store story strategy street strong structure study stuff style subject success
suddenly suffer suggest summer support sure surface table talk task tax teach team technology television test theory
threat throughout throw together tonight total tough town trade traditional training travel treat treatment tree trial
trip trouble true truth try turn type understand usually value various victim view violence visit voice vote wait walk
wall want watch weapon wear week weight west western whatever wide wife wind window wish woman wonder worker worry
write wrong yard yeah yes yourself"""

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
words = WORDS.split()
trainer = trainers.BpeTrainer(
    vocab_size=4000,
    special_tokens=["<s>", "</s>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
# What the engine answers: each of its words is a token, so that tools which count by their own tokenizer count as it does.
answers = [c + v for c in "bdfghklmnprstvwz" for v in "aeiou"]
tokenizer.train_from_iterator([" ".join(words[i:] + words[:i]) for i in range(3)] + [" " + " ".join(answers)] * 5, trainer)

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
tokenizer.save(os.path.join(folder, "tokenizer.json"))
with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
    json.dump(
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 131072,
         "clean_up_tokenization_spaces": False,
         "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}"},
        f,
    )
