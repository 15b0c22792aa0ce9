// Products, carries and borrows of words in plain C, for 64-bit processors of Arm: MUL and UMULH,
// ADCS and SBCS, which all of them have.

#define NUMBERS
#define FIELD static inline __attribute__((always_inline))

typedef unsigned __int128 TwoWords;

static inline bool has_instructions(void) { return true; }

/// Adds a * b and the carry to a word of a sum. Returns the next carry: the total is at most
/// 2^128 - 1.
FIELD Word add_product(Word *sum, Word a, Word b, Word carry) {
  const TwoWords total = (TwoWords)a * b + *sum + carry;
  *sum = (Word)total;
  return (Word)(total >> 64);
}

/// The product, of twelve words.
FIELD void multiply_words(Word t[12], const Word *a, const Word *b) {
  for (int i = 0; i < 6; i++) t[i] = 0;
  for (int i = 0; i < 6; i++) {
    Word carry = 0;
    for (int j = 0; j < 6; j++) carry = add_product(&t[i + j], a[i], b[j], carry);
    t[i + 6] = carry;
  }
}

FIELD unsigned char add_with_carry(unsigned char carry, Word a, Word b, Word *sum) {
  const TwoWords total = (TwoWords)a + b + carry;
  *sum = (Word)total;
  return (unsigned char)(total >> 64);
}

/// The borrow is what is missing of the 2^64 that is added.
FIELD unsigned char subtract_with_borrow(
    unsigned char borrow, Word a, Word b, Word *difference) {
  const TwoWords total = ((TwoWords)1 << 64) + a - b - borrow;
  *difference = (Word)total;
  return (unsigned char)(1 - (Word)(total >> 64));
}

/// The square, of twelve words.
FIELD void square_words(Word t[12], const Word *a) {
  // The products of two different words, each once.
  for (int i = 0; i < 12; i++) t[i] = 0;
  for (int i = 0; i < 5; i++) {
    Word carry = 0;
    for (int j = i + 1; j < 6; j++) carry = add_product(&t[i + j], a[i], a[j], carry);
    t[i + 6] = carry;
  }
  // Twice their sum, and the squares of the words.
  Word carry = 0, top = 0;
  for (int i = 0; i < 6; i++) {
    Word twice[2] = {t[2 * i] << 1 | top, t[2 * i + 1] << 1 | t[2 * i] >> 63};
    top = t[2 * i + 1] >> 63;
    carry = add_product(&twice[0], a[i], a[i], carry);
    carry = add_with_carry(0, twice[1], carry, &twice[1]);
    t[2 * i] = twice[0];
    t[2 * i + 1] = twice[1];
  }
}

/// r = a + b with a carry, and r = a - b with a borrow, word by word.
#define CARRY(r, a, b) carry = add_with_carry(carry, (a), (b), &(r))
#define BORROW(r, a, b) carry = subtract_with_borrow(carry, (a), (b), &(r))
