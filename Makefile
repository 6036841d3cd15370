# make book · make test · make serve · make pdf · make epub · make again · make bench · make gpu · make mutants · make bugs · make ledger · make record · make corpus · make colab · make colab-lowest · make floors · make today · make address · make links · make clean
PYTHON ?= python3
BIN := .venv/bin
BUILD := $(BIN)/jupyter-book build . -W -n --keep-going
PYTEST := $(BIN)/pytest -q -n 2 --dist worksteal
export OMP_NUM_THREADS := 1
# Whatever the shell says, Python keeps what it has compiled: the tests start it dozens of times.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: book test lint units chapters html pages pdf epub again bench gpu gpu-wheels mutants bugs ledger record corpus serve colab colab-lowest floors today address clean

book: .venv/installed
	@$(BIN)/python _ext/execute.py
	@echo "Building the site."
	@$(BUILD) -q
	@echo "The book is ready: file://$(CURDIR)/_build/html/index.html   (or: make serve)"

test: lint chapters
	@echo "Two at once: Sphinx builds the site on one core."
	@$(MAKE) -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) units html
	@$(MAKE) pages

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/nbstripout --verify --keep-id chapters/*.ipynb
	$(BIN)/lint-imports

# With every call of a checked function looked at, not only those from outside of the library, and
# every result.
units: .venv/installed
	SOFTLOOKUP_TYPECHECK=1 $(PYTEST) tests --ignore tests/book --doctest-modules lib/softlookup

chapters: .venv/installed
	$(BIN)/python _ext/execute.py --all

html: .venv/installed
	@echo "Building the site; a warning is an error."
	$(BUILD) --all

pages: .venv/installed
	$(PYTEST) tests/book

# The whole book and each chapter on paper, from the built site: _build/pdf. The site then offers them
# on its front page, until it is built again; so it is with the e-book.
pdf: .venv/installed
	@$(BIN)/python _ext/pdf.py $(NAME)
	@$(if $(NAME),,$(BIN)/python _ext/offer.py)

# The book as an e-book, EPUB 3 with MathML, from the built site: _build/epub. FORMULAS=pictures: for
# readers that show no MathML; FORMULAS=both: one of each. NAME=attention: a chapter alone.
epub: .venv/installed
	@$(BIN)/python _ext/epub.py $(NAME) $(if $(FORMULAS),--formulas $(FORMULAS))
	@$(if $(NAME),,$(BIN)/python _ext/offer.py)

again: .venv/installed
	$(BIN)/python _ext/execute.py --again

bench: .venv/installed
	$(BIN)/python benchmarks/run.py

# On a machine with a CUDA card: all that a card changes, in steps that can be stopped and taken up;
# see benchmarks/gpu.py. STEP=precision: one of them; MINUTES=8: no longer than this call;
# AGAIN=yes: what the record holds of such a card is forgotten first; REHEARSE=yes: on the processor, in
# small sizes, as it is done where there is no card.
gpu:
	@$(PYTHON) benchmarks/gpu_environment.py $(STEP) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(AGAIN),--again) $(if $(REHEARSE),--rehearse)

# For a machine with a card and no network: what its Python may lack, into .wheels, to be carried
# there with the repository. FOR=3.12: the version of its Python.
gpu-wheels:
	@$(PYTHON) benchmarks/gpu_environment.py --wheels $(or $(FOR),3.12)

# Plants bugs in a copy of the library: a test must fail for each. SHARD=1/8: an eighth of them.
mutants: .venv/installed
	$(BIN)/python tests/mutants/run.py $(if $(SHARD),--shard $(SHARD))

# What each public name is compared with, recorded from a run of all tests: the ledger's numbers.
ledger: .venv/installed
	$(BIN)/python tests/ledger/make_ledger.py $(TESTS)

# The 42 classes of bugs that real projects had, alone; the ledger shows what killed each.
bugs: .venv/installed
	$(BIN)/python tests/mutants/run.py --bugs

# Runs an experiment of softlookup.recorded with its data, which SOFTLOOKUP_DATA or the cache must
# hold, and writes its result beside its module: make record NAME=ngram_shakespeare
record: .venv/installed
	@$(BIN)/python -m softlookup.recorded $(NAME)

# Freezes the book's prose anew as the corpus of chapters 5, 7, 8, 9, 12, 20, 21 and 24: read them again then.
corpus: .venv/installed
	$(BIN)/python _ext/book_corpus.py

serve: book
	$(BIN)/python -m http.server --directory _build/html --bind 127.0.0.1 8000

# Every notebook alone, with the versions that Colab ships: see _ext/colab.py.
colab:
	@$(PYTHON) _ext/colab.py $(TORCH_INDEX)

# The same with the lowest versions that Colab has shipped in the last half year.
colab-lowest:
	@$(PYTHON) _ext/colab.py --lowest $(TORCH_INDEX)

# Every notebook alone, outside Colab, with the lowest versions that pyproject.toml allows.
floors:
	@$(PYTHON) _ext/colab.py --floors $(TORCH_INDEX)

# The pages that are built, again with the newest Sphinx and without Jupyter Book: what differs.
today: .venv/installed
	@$(BIN)/python _ext/today.py

# Sets the repository's address everywhere: make address URL=https://github.com/OWNER/NAME
address:
	@$(PYTHON) _ext/address.py "$(URL)"

# After chapters were renamed or split: their numbers and files in the links to them.
links: .venv/installed
	$(BIN)/python _ext/links.py

clean:
	rm -rf _build .colab .today .jupyter_cache .executed .venv lib/*.egg-info

# TORCH=cpu takes PyTorch's own index of builds without CUDA; the lock itself names no index.
TORCH_INDEX := $(if $(filter cpu,$(TORCH)),--index-url https://download.pytorch.org/whl/cpu)

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; (3, 11) <= v < (3, 14) or sys.exit(f"Soft Lookup needs Python 3.11 to 3.13; this is {v[0]}.{v[1]}. Choose one: make PYTHON=python3.12 ...")'
	@if [ "$$(uname -s)" = Linux ] && [ -z "$(TORCH)" ] && ! command -v nvidia-smi >/dev/null; then \
	  echo "No NVIDIA GPU found. Should pip start to fetch packages named nvidia-... (several GB of CUDA),"; \
	  echo "stop it with Ctrl-C and add TORCH=cpu to your command, as in: make book TORCH=cpu"; fi
	@echo "Making the environment .venv (a few minutes the first time)."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check $(TORCH_INDEX) $$(grep '^torch==' requirements.txt)
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
