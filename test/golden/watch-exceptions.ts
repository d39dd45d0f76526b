/** Exceptions among the recorded watches of the set `public`. */

/** The recorded requests that are answered differently here, each with the reason. */
export const watchExceptions: Readonly<Record<string, string>> = {
  'pub-w132': 'a user who may not do this, which is up to authorization',
  'pub-w133': 'a user who may not do this, which is up to authorization',
  'pub-w148': 'a 429 while a cache starts, which ours had done',
  'pub-w149': 'the oldest revision of a cache that was made three revisions later than ours',
}

/** The revision at which the recorded server was started again: its history depends on when it was
 *  started. */
export const restartedAt = 796
