"""Architectures as `show_drawing` describes them: for the tests, and for chapters to copy."""

from softlookup.show import show_drawing


def residual_block() -> None:
    """A layer adds its answer to what it was given."""
    show_drawing(
        """
        y
        add
        layer
        fork
        x
        """,
        data={"x": "x | n × d_model", "y": "x + f(x) | n × d_model"},
        learned={"layer": "layer f"},
        circles={"add": "+"},
        joints="fork",
        arrows="""
        x -> fork -> layer -(f(x))-> add -> y
        fork -> add by left
        """,
        name="fig-residual-block",
        alt="The input goes two ways: through a layer, and around it to a sum",
        caption="A residual block. The layer only computes a change, which is added to its input.",
    )


def unrolled_rnn() -> None:
    """A recurrent network at three steps."""
    show_drawing(
        """
        .   y1   y2   y3   .
        h0  rnn1 rnn2 rnn3 h3
        .   x1   x2   x3   .
        """,
        data={
            **{"x1": "x_1", "x2": "x_2", "x3": "x_3", "h0": "h_0"},
            **{"y1": "y_1", "y2": "y_2", "y3": "y_3", "h3": "h_3"},
        },
        learned={"rnn1": "RNN", "rnn2": "RNN", "rnn3": "RNN"},
        arrows="""
        h0 -> rnn1 -(h_1)-> rnn2 -(h_2)-> rnn3 -> h3
        x1 -> rnn1 -> y1
        x2 -> rnn2 -> y2
        x3 -> rnn3 -> y3
        """,
        name="fig-rnn-unrolled",
        alt="Three copies of one network; each reads a word and the state of the one before",
        caption="A recurrent network, unrolled. The three boxes share the same weights.",
    )


def lstm() -> None:
    """One step of an LSTM."""
    show_drawing(
        """
        c_old  .     forget  .     add    c_out  c_new
        .      .     .       .     .      tanh   .
        .      .     .       .     write  read   h_new
        .      .     f       i     g      o      .
        h_old  meet  to_f    to_i  to_g   to_o   .
        x      x_up  .       .     .      .      .
        """,
        data={"c_old": "c_{t−1}", "h_old": "h_{t−1}", "x": "x_t", "c_new": "c_t", "h_new": "h_t"},
        gates={"f": "σ", "i": "σ", "o": "σ"},
        learned={"g": "tanh"},
        circles={"forget": "×", "add": "+", "write": "×", "read": "×", "tanh": "tanh"},
        joints="meet x_up to_f to_i to_g to_o c_out",
        arrows="""
        c_old -> forget -> add -> c_out -> c_new
        c_out -> tanh -> read -> h_new
        h_old -> meet -> to_f -> to_i -> to_g -> to_o -> o
        x -> x_up -> meet
        to_f -> f -(f_t)-> forget
        to_i -> i -(i_t)-> write
        to_g -> g -(g_t)-> write -> add
        o -(o_t)-> read
        """,
        name="fig-lstm",
        alt="The cell state passes a forget gate and a sum; an output gate lets the state out",
        caption="One step of an LSTM. Orange: gates, which multiply by numbers from 0 to 1.",
    )


def gru() -> None:
    """One step of a GRU."""
    show_drawing(
        """
        h_old  down  fork   keep   .      add  h_new
        .      .     .      z_out  minus  mix  .
        .      .     reset  .      .      n    .
        .      .     r      z      .      .    .
        .      meet  to_r   to_z   .      .    .
        x      x_up  .      .      .      .    .
        """,
        data={"h_old": "h_{t−1}", "x": "x_t", "h_new": "h_t"},
        gates={"r": "σ", "z": "σ"},
        learned={"n": "tanh"},
        circles={"reset": "×", "keep": "×", "mix": "×", "add": "+", "minus": "1 −"},
        joints="down fork meet to_r to_z x_up z_out",
        arrows="""
        h_old -> down -> fork -> keep -> add -> h_new
        down -> meet -> to_r -> to_z -> z -(z_t)-> z_out -> keep
        x -> x_up -> meet
        to_r -> r -(r_t)-> reset
        fork -> reset -> n -(n_t)-> mix -> add
        x_up -> n
        z_out -> minus -> mix
        """,
        name="fig-gru",
        alt="One gate resets what the candidate sees of the past, one mixes the past with it",
        caption="One step of a GRU. The new state lies between the old and the candidate $n_t$.",
    )


def encoder_decoder() -> None:
    """Two recurrent networks with one vector between them."""
    show_drawing(
        """
        y1    y2    y3
        d1    d2    d3
        s1    s2    s3
        c     c     c
        e1    e2    e3
        x1    x2    x3
        """,
        data={
            **{"x1": "the", "x2": "cat", "x3": "sat", "c": "context c | d_model"},
            **{"s1": "<s>", "s2": "le", "s3": "chat", "y1": "le", "y2": "chat", "y3": "dort"},
        },
        learned=dict.fromkeys(("e1", "e2", "e3", "d1", "d2", "d3"), "RNN"),
        frames={"Encoder": "e1 e2 e3", "Decoder": "d1 d2 d3"},
        arrows="""
        x1 -> e1 -> e2 -> e3 -> c
        x2 -> e2
        x3 -> e3
        c -> d1 by left
        s1 -> d1 -> d2 -> d3 -> y3
        s2 -> d2 -> y2
        s3 -> d3
        d1 -> y1
        """,
        name="fig-encoder-decoder",
        alt="The encoder leaves one vector, from which the decoder writes every word",
        caption="Encoder and decoder. All that the decoder knows of the sentence is one vector.",
    )


def encoder_decoder_attention() -> None:
    """A step of the decoder looks at all states of the encoder."""
    show_drawing(
        """
        .      y        y        y
        s_old  decoder  decoder  decoder
        .      mix      mix      mix
        .      softmax  softmax  softmax
        fork   scores   scores   scores
        .      H        H        H
        .      e1       e2       e3
        .      x1       x2       x3
        """,
        data={
            **{"x1": "the", "x2": "cat", "x3": "sat", "y": "next word"},
            **{"H": "states h_1, h_2, h_3", "s_old": "s_{t−1}"},
        },
        learned={
            **{"e1": "RNN", "e2": "RNN", "e3": "RNN"},
            **{"scores": "score each state", "decoder": "decoder step"},
        },
        fixed={"softmax": "softmax", "mix": "weighted sum"},
        joints="fork",
        arrows="""
        x1 -> e1 -> e2 -> e3 -> H
        x2 -> e2 -> H
        x3 -> e3
        e1 -> H
        H -> scores -> softmax -(α_1, α_2, α_3)-> mix -(c_t)-> decoder -> y
        H -> mix by right
        s_old -> decoder
        s_old -> fork -> scores
        """,
        name="fig-encoder-decoder-attention",
        alt="The decoder's state scores every state of the encoder; their weighted sum goes on",
        caption="With attention the decoder reads a new mixture of all states at each step.",
    )


def attention_head() -> None:
    """One head, with the shapes of what flows."""
    show_drawing(
        """
        out      out      out
        mix      mix      mix
        A        A        .
        softmax  softmax  .
        scores   scores   .
        Q        K        V
        W_Q      W_K      W_V
        X        X        X
        """,
        data={
            **{"X": "X | n × d_model", "Q": "Q | n × d_k", "K": "K | n × d_k", "V": "V | n × d_v"},
            **{"A": "weights A | n × n", "out": "Z | n × d_v"},
        },
        learned={"W_Q": "W^Q", "W_K": "W^K", "W_V": "W^V"},
        fixed={"scores": "Q K^⊤ / √d_k", "softmax": "softmax of each row", "mix": "A V"},
        arrows="""
        X -> W_Q -> Q -> scores
        X -> W_K -> K -> scores
        X -> W_V -> V -> mix
        scores -(n × n)-> softmax -> A -> mix -> out
        """,
        name="fig-attention-head",
        alt="Queries and keys make the weights by a softmax; the weights mix the values",
        caption="One head of attention. Only the three projections are learned.",
    )


def many_heads() -> None:
    """Several heads beside each other."""
    show_drawing(
        """
        out     out    out   out
        W_O     W_O    W_O   W_O
        concat  concat concat concat
        head_0  head_1 dots  head_H
        X       X      X     X
        """,
        data={"X": "X | n × d_model", "out": "out | n × d_model"},
        learned={
            **{"head_0": "head 0", "head_1": "head 1", "head_H": "head H−1"},
            **{"W_O": "W^O"},
        },
        words={"dots": "…"},
        fixed={"concat": "concatenate"},
        arrows="""
        X -> head_0 -(n × d_v)-> concat
        X -> head_1 -(n × d_v)-> concat
        X -> head_H -(n × d_v)-> concat
        concat -(n × H d_v)-> W_O -> out
        """,
        name="fig-many-heads",
        alt="Every head reads the whole input; their outputs lie side by side and are mixed",
        caption="Many heads. Each has projections of its own, and $W^O$ mixes what they found.",
    )


def post_norm_block() -> None:
    """The block of 2017: the sum is normalized."""
    show_drawing(
        """
        out
        norm2
        add2
        ffn
        fork2
        norm1
        add1
        attention
        fork1
        x
        """,
        data={"x": "x | n × d_model", "out": "out | n × d_model"},
        learned={"attention": "self-attention", "ffn": "feed-forward"},
        fixed={"norm1": "LayerNorm", "norm2": "LayerNorm"},
        circles={"add1": "+", "add2": "+"},
        joints="fork1 fork2",
        frames={"× L": "fork1 attention add1 norm1 fork2 ffn add2 norm2"},
        arrows="""
        x -> fork1 -> attention -> add1 -> norm1 -> fork2 -> ffn -> add2 -> norm2 -> out
        fork1 -> add1 by left
        fork2 -> add2 by left
        """,
        name="fig-post-norm",
        alt="Each layer is followed by a sum and a norm, which stands in the stream itself",
        caption="The Transformer block of 2017: the norms stand in the stream.",
    )


def pre_norm_block() -> None:
    """The block of today: the layer's input is normalized."""
    show_drawing(
        """
        out
        add2
        ffn
        norm2
        fork2
        add1
        attention
        norm1
        fork1
        x
        """,
        data={"x": "x | n × d_model", "out": "out | n × d_model"},
        learned={"attention": "self-attention", "ffn": "feed-forward"},
        fixed={"norm1": "LayerNorm", "norm2": "LayerNorm"},
        circles={"add1": "+", "add2": "+"},
        joints="fork1 fork2",
        frames={"× L": "fork1 attention add1 norm1 fork2 ffn add2 norm2"},
        arrows="""
        x -> fork1 -> norm1 -> attention -> add1 -> fork2 -> norm2 -> ffn -> add2 -> out
        fork1 -> add1 by left
        fork2 -> add2 by left
        """,
        name="fig-pre-norm",
        alt="The stream passes sums alone; each norm stands before a layer, beside the stream",
        caption="The Transformer block of today: nothing but sums stands in the stream.",
    )


def block_with_numbers() -> None:
    """One token's numbers on their way through half a block."""
    show_drawing(
        """
        out
        add
        ffn
        norm
        fork
        x
        """,
        data={"x": "one token x", "out": "the same token"},
        learned={"ffn": "feed-forward"},
        fixed={"norm": "LayerNorm"},
        circles={"add": "+"},
        joints="fork",
        arrows="""
        x -> fork -> norm -(−1.34  −0.45  0.45  1.34)-> ffn -(0.20  0.00  −0.70  0.10)-> add
        add -(1.20  2.00  2.30  4.10)-> out
        fork -(1.00 | 2.00 | 3.00 | 4.00)-> add by left
        """,
        name="fig-block-numbers",
        alt="The numbers 1, 2, 3, 4 come back with small changes written by the layer",
        caption="One token in a residual block: the stream keeps its numbers, the layer adds.",
    )


def transformer() -> None:
    """Encoder and decoder of 2017."""
    show_drawing(
        """
        .        probs
        .        softmax
        .        linear
        .        norm5
        .        ffn2
        .        fork5
        .        norm4
        .        cross
        .        fork4
        norm2    norm3
        ffn1     masked
        fork2    fork3
        norm1    .
        self     .
        fork1    .
        embed1   embed2
        source   target
        """,
        data={"source": "source", "target": "target so far", "probs": "next word"},
        learned={
            **{"embed1": "embedding\n+ positions", "embed2": "embedding\n+ positions"},
            **{"self": "self-\nattention", "masked": "masked self-\nattention"},
            **{"cross": "cross-\nattention", "ffn1": "feed-forward", "ffn2": "feed-forward"},
            **{"linear": "linear"},
        },
        fixed={
            **{f"norm{k}": "add & norm" for k in range(1, 6)},
            **{"softmax": "softmax"},
        },
        joints="fork1 fork2 fork3 fork4 fork5",
        frames={
            "Encoder × L": "fork1 self norm1 fork2 ffn1 norm2",
            "Decoder × L": "fork3 masked norm3 fork4 cross norm4 fork5 ffn2 norm5",
        },
        arrows="""
        source -> embed1 -> fork1 -> self -> norm1 -> fork2 -> ffn1 -> norm2 -(K, V)-> cross
        target -> embed2 -> fork3 -> masked -> norm3 -> fork4 -(Q)-> cross -> norm4 -> fork5
        fork5 -> ffn2 -> norm5 -> linear -> softmax -> probs
        fork1 -> norm1 by left
        fork2 -> norm2 by left
        fork3 -> norm3 by right
        fork4 -> norm4 by right
        fork5 -> norm5 by right
        """,
        name="fig-transformer",
        alt="The encoder reads the source; each layer of the decoder looks at what it found",
        caption="The Transformer of 2017. Keys and values come from the encoder.",
    )


def bengio() -> None:
    """The neural language model of 2003."""
    show_drawing(
        """
        probs   probs   probs
        softmax softmax softmax
        output  output  output
        hidden  hidden  hidden
        concat  concat  concat
        E1      E2      E3
        w1      w2      w3
        """,
        data={"w1": "w_{i−3}", "w2": "w_{i−2}", "w3": "w_{i−1}", "probs": "P(w_i) | |𝒱|"},
        learned={
            **{"E1": "E", "E2": "E", "E3": "E"},
            **{"hidden": "linear, tanh | 3 d → d_h", "output": "linear | d_h → |𝒱|"},
        },
        fixed={"concat": "concatenate", "softmax": "softmax"},
        arrows="""
        w1 -> E1 -(d)-> concat
        w2 -> E2 -(d)-> concat
        w3 -> E3 -(d)-> concat
        concat -(3 d)-> hidden -> output -(scores)-> softmax -> probs
        concat -> output by right
        """,
        name="fig-bengio",
        alt="Three words become vectors by one table; side by side they pass a hidden layer",
        caption="Bengio's network. The three tables $E$ are one; training moves its rows too.",
    )


def skip_gram() -> None:
    """From a word to its neighbours."""
    show_drawing(
        """
        c1     c2     c3     c4
        output output output output
        input  input  input  input
        w      w      w      w
        """,
        data={
            **{"c1": "w_{i−2}", "c2": "w_{i−1}", "c3": "w_{i+1}", "c4": "w_{i+2}", "w": "w_i"},
        },
        learned={"input": "embedding of words", "output": "embedding of contexts"},
        arrows="""
        w -> input -(d)-> output -> c1
        output -> c2
        output -> c3
        output -> c4
        """,
        name="fig-skip-gram",
        alt="One word predicts each of its four neighbours",
        caption="Skip-gram: from the word to each of its neighbours.",
    )


def cbow() -> None:
    """From the neighbours to the word."""
    show_drawing(
        """
        w      w      w      w
        output output output output
        mean   mean   mean   mean
        input1 input2 input3 input4
        c1     c2     c3     c4
        """,
        data={
            **{"c1": "w_{i−2}", "c2": "w_{i−1}", "c3": "w_{i+1}", "c4": "w_{i+2}", "w": "w_i"},
        },
        learned={
            **{"input1": "E", "input2": "E", "input3": "E", "input4": "E"},
            **{"output": "output embedding"},
        },
        fixed={"mean": "mean"},
        arrows="""
        c1 -> input1 -> mean
        c2 -> input2 -> mean
        c3 -> input3 -> mean
        c4 -> input4 -> mean -(d)-> output -> w
        """,
        name="fig-cbow",
        alt="The mean of four neighbours' vectors predicts the word between them",
        caption="CBOW: from the mean of the neighbours to the word.",
    )


def gpt() -> None:
    """A decoder alone, from text to the next token."""
    show_drawing(
        """
        .          probs
        .          softmax
        .          unembed
        .          norm
        .          add2
        .          ffn
        .          norm2
        .          fork2
        .          add1
        .          attention
        .          norm1
        .          fork1
        positions  add0
        .          embed
        .          ids
        """,
        data={"ids": "token ids | n", "probs": "P(next token) | n × |𝒱|"},
        learned={
            **{"embed": "embedding", "positions": "positions", "unembed": "linear"},
            **{"attention": "masked\nself-attention", "ffn": "feed-forward"},
        },
        fixed={
            "norm1": "LayerNorm",
            "norm2": "LayerNorm",
            "norm": "LayerNorm",
            "softmax": "softmax",
        },
        circles={"add0": "+", "add1": "+", "add2": "+"},
        joints="fork1 fork2",
        frames={"× L": "fork1 norm1 attention add1 fork2 norm2 ffn add2"},
        arrows="""
        ids -> embed -> add0 -(n × d_model)-> fork1 -> norm1 -> attention -> add1 -> fork2
        fork2 -> norm2 -> ffn -> add2 -> norm -> unembed -> softmax -> probs
        positions -> add0
        fork1 -> add1 by left
        fork2 -> add2 by left
        """,
        name="fig-gpt",
        alt="Tokens pass a stack of blocks, each of which adds to them, up to probabilities",
        caption="A GPT: a stack of pre-norm blocks that never look ahead.",
    )


def vision_transformer() -> None:
    """An image, cut into patches, as a sentence."""
    show_drawing(
        """
        label   .      .      .
        head    .      .      .
        encoder encoder encoder encoder
        add0    add1   add2   add3
        cls     E1     E2     E3
        .       p1     p2     p3
        .       cut    cut    cut
        .       image  image  image
        """,
        data={
            **{"image": "image | height × width × 3", "label": "class"},
            **{"p1": "patch 1", "p2": "patch 2", "p3": "patch N"},
        },
        learned={
            **{"cls": "[CLS]", "E1": "linear", "E2": "linear", "E3": "linear"},
            **{"head": "linear"},
        },
        stacks={"encoder": "Transformer encoder | (N + 1) × d_model"},
        fixed={"cut": "cut into patches"},
        circles={"add0": "+ p_0", "add1": "+ p_1", "add2": "+ p_2", "add3": "+ p_N"},
        arrows="""
        image -> cut -> p1 -> E1 -> add1 -> encoder
        cut -> p2 -> E2 -> add2 -> encoder
        cut -> p3 -> E3 -> add3 -> encoder
        cls -> add0 -> encoder -> head -> label
        """,
        name="fig-vit",
        alt="Patches of an image become vectors; beside them a class token gathers the answer",
        caption="A Vision Transformer: the image's patches are its words.",
    )


DRAWINGS = (
    residual_block,
    unrolled_rnn,
    lstm,
    gru,
    encoder_decoder,
    encoder_decoder_attention,
    attention_head,
    many_heads,
    post_norm_block,
    pre_norm_block,
    block_with_numbers,
    transformer,
    bengio,
    skip_gram,
    cbow,
    gpt,
    vision_transformer,
)
