/** What a pack may hold, wherever it comes from: far beyond what packs have, so that nothing fills a disk. */
export const packLimits = {
  files: 10_000,
  /** Of one file. */
  fileBytes: 64 * 1024 * 1024,
  /** Of all files. */
  totalBytes: 256 * 1024 * 1024,
  /** Of an archive, and of what is downloaded. */
  archiveBytes: 128 * 1024 * 1024,
  downloadMs: 5 * 60_000,
  cloneMs: 10 * 60_000,
} as const
