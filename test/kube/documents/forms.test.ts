/** OpenAPI documents of custom kinds with a member of every form, compared with what a
 *  kube-apiserver 1.36 said of the same definitions on 24 November 2026 (data/forms.json.gz: the
 *  definitions as it stored them, and its documents of their group). */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { OpenApi } from '../../../lib/kube/documents/openapi.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { customDefinition } from '../../../lib/kube/resources/custom-resources.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { jsonEntry } from '../../support/kube/kube-builders.ts'
import { allSteps } from '../../support/steps.ts'

type Members = Readonly<Record<string, unknown>>

const recorded = JSON.parse(
  gunzipSync(readFileSync('test/kube/documents/data/forms.json.gz')).toString(),
) as {
  readonly definitions: readonly object[]
  readonly version2: { readonly paths: Members; readonly definitions: Members }
  readonly version3: { readonly paths: Members; readonly schemas: Members; names: string[] }
}

const registry = new Registry({
  schema: schemaOf(),
  installed: builtInResources(schemaOf()),
  definitions: recorded.definitions.map(definition =>
    customDefinition(jsonEntry('/registry/x', definition, 7), '/registry'),
  ),
})
const openApi = new OpenApi({ registry, digests, gitVersion: 'v1.36.2' })

function only(members: Members, prefix: string): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => name.startsWith(prefix)))
}

/** Compares member by member, so that a difference is short. */
function same(t: Test, ours: Members, theirs: Members): void {
  t.strictSame(Object.keys(ours).sort(), Object.keys(theirs).sort())
  for (const [name, wanted] of Object.entries(theirs)) t.strictSame(ours[name], wanted, name)
}

t.test('version 3 describes custom kinds as a server does', async t => {
  const document = allSteps(openApi.document('apis/forms.example.com/v1')) ?? '{}'
  const { paths, components } = JSON.parse(document) as {
    paths: Members
    components: { schemas: Members }
  }
  same(t, paths, recorded.version3.paths)
  same(t, only(components.schemas, 'com.example.forms.'), recorded.version3.schemas)
  t.strictSame(Object.keys(components.schemas).sort(), recorded.version3.names.toSorted())
})

t.test('version 2 describes custom kinds as a server does', async t => {
  const { paths, definitions } = JSON.parse(allSteps(openApi.all()) ?? '{}') as {
    paths: Members
    definitions: Members
  }
  same(t, only(paths, '/apis/forms.example.com/'), recorded.version2.paths)
  same(t, only(definitions, 'com.example.forms.'), recorded.version2.definitions)
})
