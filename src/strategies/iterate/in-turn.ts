/** The last commit that was started in each repository, by git's own folder. */
const lastCommits = new Map<string, Promise<unknown>>()

/**
 * Does work on a repository after all earlier work of this process on it has ended; otherwise prompt files that iterate
 * at the same time would run into each other's lock. `folder`: git's own.
 */
export async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = lastCommits.get(folder)
  const own = before === undefined ? work() : before.then(work)
  const ended = own.catch(() => {})
  lastCommits.set(folder, ended)
  try {
    return await own
  } finally {
    if (lastCommits.get(folder) === ended) lastCommits.delete(folder)
  }
}
