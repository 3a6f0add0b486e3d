/** Numbers that look random and are the same for the same seed. Each state has its own. */
export interface RandomNumbers {
  /** Starts a sequence. */
  seed(value: number): void
  /** From 0 to 1, without 1, with 53 bits. */
  next(): number
}

/** The generator sfc32 (Chris Doty-Humphrey's Small Fast Counting). */
export function createRandomNumbers(): RandomNumbers {
  let [a, b, c, counter] = [0, 0, 0, 1]

  const word = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  const seed = (value: number): void => {
    const bits = new DataView(new ArrayBuffer(8))
    bits.setFloat64(0, value)
    a = bits.getInt32(0)
    b = bits.getInt32(4)
    c = 0x2f_6e_2b_1
    counter = 1
    for (let round = 0; round < 15; round++) word()
  }
  return { seed, next: () => ((word() >>> 5) * 0x4_00_00_00 + (word() >>> 6)) / 2 ** 53 }
}
