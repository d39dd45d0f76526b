import t from 'tap'
import { textInOrder } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { type PatchFormat, applyPatch } from '../../../lib/writes/patches/apply-patch.ts'
import { type Status, StatusError, statusJson } from '../../../lib/kube/status.ts'
import { recorded, treeOf } from '../recorded/load.ts'
import { allSteps } from '../../support/steps.ts'

interface Row {
  readonly kind: string
  readonly apiVersion: string
  readonly type: PatchFormat
  readonly body: string
  readonly isChecked: boolean
  readonly live: unknown
  readonly status?: Status
  readonly patched?: string
  readonly strictErrors?: readonly string[]
}

const schema = schemaOf('1.36')

t.test('random patches make what kube-apiserver makes of them', async t => {
  for (const [i, line] of recorded('patches').entries()) {
    const row = JSON.parse(line) as Row
    const what = `line ${i + 1}: ${row.type} ${row.body.slice(0, 200)}`
    const kind = {
      schema,
      group: '',
      version: '',
      apiVersion: row.apiVersion,
      kind: row.kind,
      resource: '',
      isNamespaced: true,
      type: schema.findKind(row.apiVersion, row.kind)?.type,
      definition: undefined,
    }
    const { type, isChecked } = row
    const patch = { type, body: Buffer.from(row.body), isChecked }
    try {
      const { patched, strictErrors } = allSteps(applyPatch(kind, treeOf(row.live), patch))
      t.equal(textInOrder(patched), row.patched, what)
      t.strictSame(strictErrors, row.strictErrors ?? [], what)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      t.strictSame(JSON.parse(statusJson(error.status)), row.status, what)
    }
  }
})
