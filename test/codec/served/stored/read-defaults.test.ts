/** Defaults of what is read from etcd. The rows have JSON as it was put straight into the etcd of a
 *  kube-apiserver 1.36, with the members that its answer to a GET had besides, or had no more; or
 *  why we do not show it (the server does). */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { appendObject } from '../../../../lib/codec/served/object-view.ts'
import { ByteWriter } from '../../../../lib/base/bytes/byte-writer.ts'

type Members = Record<string, unknown>

interface Stored {
  readonly apiVersion: string
  readonly kind: string
}

interface Row {
  readonly stored: Stored
  readonly shown?: Members
  readonly gone?: readonly string[]
  readonly refused?: string
}

/** The members without members of their own, by their paths. */
function leavesOf(value: unknown, path = '', found: Members = {}): Members {
  const inside = Object.entries(typeof value === 'object' && value !== null ? value : {})
  if (inside.length === 0) found[path] = value
  for (const [name, member] of inside) {
    leavesOf(member, path === '' ? name : `${path}/${name}`, found)
  }
  return found
}

function shown({ apiVersion, kind, ...rest }: Stored): Uint8Array | NotExact {
  const bytes = Buffer.from(JSON.stringify({ kind, apiVersion, ...rest }))
  const out = new ByteWriter()
  const asked = { schema: schemaOf('1.36'), apiVersion, kind, custom: undefined }
  const options = { resourceVersion: '', isItem: false }
  const problem = appendObject(out, { bytes, start: 0, end: bytes.length }, asked, options)
  return problem ?? out.copy()
}

const rows = readFileSync('test/codec/served/stored/rows/read-defaults.jsonl', 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Row)

for (const kind of new Set(rows.map(({ stored }) => stored.kind))) {
  t.test(`what a server fills in when it reads a ${kind}`, async t => {
    for (const row of rows.filter(({ stored }) => stored.kind === kind)) {
      const { stored, refused } = row
      const name = JSON.stringify(stored)
      const answer = shown(stored)
      if (answer instanceof NotExact || refused !== undefined) {
        t.equal(answer instanceof NotExact ? answer.reason : 'shown', refused, name)
        continue
      }
      const before = leavesOf(stored)
      const after = leavesOf(JSON.parse(Buffer.from(answer).toString()))
      const added = Object.entries(after).filter(
        ([path, value]) => JSON.stringify(before[path]) !== JSON.stringify(value),
      )
      t.strictSame(Object.fromEntries(added), row.shown, name)
      const gone = Object.keys(before).filter(path => !(path in after))
      t.strictSame(gone, row.gone ?? [], `${name}: gone`)
    }
  })
}
