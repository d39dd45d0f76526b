/** The users of `--token-auth-file`, in kube-apiserver's format: lines of CSV with a token, a user,
 *  a uid, and, in quotes, groups with commas between them. */

import { createHmac, randomBytes } from 'node:crypto'
import { CacheError } from '@watchglass/base'
import type { Identity } from '@watchglass/kube'

/** Tokens are looked up by their hash, so that the time of a comparison says nothing about them. */
export class StaticTokens {
  readonly #users = new Map<string, Identity>()
  /** The key of the hash; its own, since a thread reads the file before it knows the salt of the
   *  others. */
  readonly #key = randomBytes(16)

  /** The users in the contents of a file; none if it is left out. Of two lines with one token the
   *  last one counts. Fails on a line that cannot be read. */
  constructor(file = '') {
    for (const [i, record] of recordsOf(file).entries()) {
      const [token = '', user = '', uid = '', groups = ''] = record
      if (record.length < 3) {
        throw invalid(
          `record ${i + 1} has ${record.length} columns instead of at least 3: token, user name, user uid`,
        )
      }
      if (token === '') continue
      const named = groups === '' ? [] : groups.split(',')
      this.#users.set(this.#hash(token), { user, uid, groups: named, extra: {} })
    }
  }

  userOf(token: string): Identity | undefined {
    return this.#users.get(this.#hash(token))
  }

  #hash(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('base64')
  }
}

/** The records of a CSV file (RFC 4180); empty lines are none. */
function recordsOf(text: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  while (field.lastIndex < text.length) {
    const found = field.exec(text)
    if (found === null) throw invalid(`record ${records.length + 1} has a quote where none may be`)
    const [, quoted, plain = '', end = ''] = found
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',' && field.lastIndex < text.length) continue
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  return records
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
