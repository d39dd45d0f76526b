import t from 'tap'
import { atOnce } from '../../../lib/base/slice.ts'
import { type JsonObject, textFromTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { WriteDefinition, WriteKind } from '../../../lib/writes/write-kind.ts'
import {
  serverSideApply,
  updateManagedFields,
  withoutNewTimestamps,
} from '../../../lib/writes/ownership/managed-fields.ts'
import { StatusError } from '../../../lib/kube/status.ts'
import { recorded, treeOf } from '../recorded/load.ts'

interface Row {
  readonly resource: string
  readonly apiVersion: string
  readonly manager: string
  readonly subresource: string
  readonly now: string
  readonly force: boolean
  readonly live?: unknown
  readonly updated?: unknown
  readonly applied?: unknown
  readonly managedFields?: unknown
  readonly code?: number
  readonly message?: string
  readonly causes?: number
}

interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly names: { readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: unknown }
      readonly subresources?: { readonly status?: unknown }
    }[]
  }
}

const schema = schemaOf('1.36')
const [first = '', ...lines] = recorded('ownership')
const { definitions } = JSON.parse(first) as { definitions: readonly Definition[] }
const custom = new Map<string, WriteDefinition>(
  definitions.flatMap(({ metadata, spec }) =>
    spec.versions.map(version => [
      `${version.name} ${spec.names.plural}`,
      {
        name: metadata.name,
        schema: version.schema.openAPIV3Schema,
        preservesUnknownFields: false,
        hasStatus: version.subresources?.status !== undefined,
        scale: undefined,
      },
    ]),
  ),
)

t.test('managed fields after random writes are what kube-apiserver made them', async t => {
  for (const [i, line] of lines.entries()) {
    const row = JSON.parse(line) as Row
    const what = `line ${i + 2}: ${row.applied === undefined ? 'update' : 'apply'} of ${row.resource}`
    const live = row.live === undefined ? undefined : treeOf(row.live)
    try {
      const object = written(row, live)
      const kept = live === undefined ? object : withoutNewTimestamps(live, object)
      t.equal(managedFieldsText(kept), managedFieldsText(treeWith(row.managedFields)), what)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      const { code, message, details } = error.status
      const sorted = (text: string): string => text.split('\n').sort().join('\n')
      t.equal(code, row.code, what)
      t.equal(sorted(message), sorted(row.message ?? ''), what)
      t.equal(details?.causes?.length ?? 0, row.causes, what)
    }
  }
})

function written(row: Row, live: JsonObject | undefined): JsonObject {
  const context = {
    kind: kindOf(row),
    manager: row.manager,
    subresource: row.subresource,
    now: row.now,
    force: row.force,
    convert: (object: JsonObject, apiVersion: string) => ({
      kind: kindOf({ ...row, apiVersion }),
      object: new Map(object).set('apiVersion', apiVersion),
    }),
  }
  return atOnce(
    row.applied === undefined
      ? updateManagedFields(context, live, treeOf(row.updated))
      : serverSideApply(context, live, treeOf(row.applied)),
  )
}

function kindOf({ resource, apiVersion, live, updated, applied }: Row): WriteKind {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const { kind } = (live ?? updated ?? applied) as { kind: string }
  return {
    schema,
    group,
    version,
    apiVersion,
    kind,
    resource,
    isNamespaced: true,
    type: schema.findKind(apiVersion, kind)?.type,
    definition: custom.get(`${version} ${resource}`),
  }
}

function treeWith(managedFields: unknown): JsonObject {
  return treeOf({ metadata: managedFields === null ? {} : { managedFields } })
}

function managedFieldsText(object: JsonObject): string {
  const metadata = object.get('metadata')
  const managedFields = metadata instanceof Map ? metadata.get('managedFields') : undefined
  return managedFields === undefined ? 'none' : textFromTree(managedFields)
}
