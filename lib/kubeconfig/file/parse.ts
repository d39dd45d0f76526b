/** The text of a kubeconfig, read as client-go's `clientcmd.LoadFromFile` reads it: YAML or JSON,
 *  unknown fields ignored, names unique, relative paths beside the file. */

import { dirname, resolve } from 'node:path'
import { CacheError, yamlValues } from '@watchglass/base'
import { TypedFields } from './typed-fields.ts'
import type {
  ExecPluginSettings,
  Kubeconfig,
  KubeconfigCluster,
  KubeconfigContext,
  KubeconfigUser,
  PemSource,
} from './kubeconfig.ts'

/** The name that client-go reserves for what a cluster says to a plugin. */
const pluginExtension = 'client.authentication.k8s.io/exec'

/** Fails with `invalid_request` if the text is no kubeconfig. An empty text is an empty one. */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  try {
    const document = documentIn(text)
    checkKind(document)
    return {
      files: [file],
      currentContext: document.text('current-context'),
      clusters: entriesOf(document, 'clusters', (name, fields) =>
        clusterFrom(fields.object('cluster'), { name, file }),
      ),
      users: entriesOf(document, 'users', (name, fields) =>
        userFrom(fields.object('user'), { name, file }),
      ),
      contexts: entriesOf(document, 'contexts', (name, fields) =>
        contextFrom(fields.object('context'), { name, file }),
      ),
    }
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `kubeconfig ${file}: ${message}`, { cause: error })
  }
}

function documentIn(text: string): TypedFields {
  let values: unknown[]
  try {
    values = yamlValues(text)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `it is not YAML: ${message}`, { cause: error })
  }
  const [value] = values
  if (value !== undefined && value !== null && typeof value !== 'object') {
    throw new CacheError('invalid_request', 'it is a text, and no kubeconfig')
  }
  return new TypedFields(value, '')
}

/** Both may be left out. */
function checkKind(document: TypedFields): void {
  const [apiVersion, kind] = [
    document.text('apiVersion') || 'v1',
    document.text('kind') || 'Config',
  ]
  if (apiVersion === 'v1' && kind === 'Config') return
  throw new CacheError(
    'invalid_request',
    `it is of kind ${JSON.stringify(kind)} and apiVersion ${JSON.stringify(apiVersion)}; a kubeconfig is of kind "Config" and apiVersion "v1"`,
  )
}

function entriesOf<T>(
  document: TypedFields,
  list: string,
  read: (name: string, fields: TypedFields) => T,
): ReadonlyMap<string, T> {
  const entries = new Map<string, T>()
  for (const fields of document.objects(list)) {
    const name = fields.text('name')
    if (entries.has(name)) {
      throw new CacheError(
        'invalid_request',
        `${list} has two entries with the name ${JSON.stringify(name)}; rename or delete one`,
      )
    }
    entries.set(name, read(name, fields))
  }
  return entries
}

interface Origin {
  readonly name: string
  readonly file: string
}

function clusterFrom(fields: TypedFields, origin: Origin): KubeconfigCluster {
  const extension = fields.objects('extensions').find(one => one.text('name') === pluginExtension)
  return {
    ...origin,
    server: fields.text('server'),
    tlsServerName: fields.text('tls-server-name'),
    isUnverified: fields.flag('insecure-skip-tls-verify'),
    authority: pemFrom(fields, 'certificate-authority', origin),
    proxyUrl: fields.text('proxy-url'),
    isUncompressed: fields.flag('disable-compression'),
    pluginConfig: extension?.member('extension'),
  }
}

function userFrom(fields: TypedFields, origin: Origin): KubeconfigUser {
  return {
    ...origin,
    certificate: pemFrom(fields, 'client-certificate', origin),
    key: pemFrom(fields, 'client-key', origin),
    token: fields.text('token'),
    tokenFile: besideFile(fields.text('tokenFile'), origin),
    username: fields.text('username'),
    password: fields.text('password'),
    impersonation: {
      user: fields.text('as'),
      uid: fields.text('as-uid'),
      groups: fields.texts('as-groups'),
      extra: fields.textsByName('as-user-extra'),
    },
    exec: fields.has('exec') ? pluginFrom(fields.object('exec'), origin) : undefined,
    authProvider: fields.has('auth-provider')
      ? fields.object('auth-provider').text('name')
      : undefined,
  }
}

function pluginFrom(fields: TypedFields, origin: Origin): ExecPluginSettings {
  const command = fields.text('command')
  return {
    apiVersion: fields.text('apiVersion'),
    // A name without a slash is searched in PATH.
    command: command.includes('/') ? besideFile(command, origin) : command,
    args: fields.texts('args'),
    env: fields.objects('env').map(one => ({ name: one.text('name'), value: one.text('value') })),
    installHint: fields.text('installHint'),
    providesClusterInfo: fields.flag('provideClusterInfo'),
    interactiveMode: fields.text('interactiveMode'),
  }
}

function contextFrom(fields: TypedFields, origin: Origin): KubeconfigContext {
  return {
    ...origin,
    cluster: fields.text('cluster'),
    user: fields.text('user'),
    namespace: fields.text('namespace'),
  }
}

function pemFrom(fields: TypedFields, name: string, origin: Origin): PemSource {
  return {
    data: fields.bytes(`${name}-data`),
    path: besideFile(fields.text(name), origin),
  }
}

function besideFile(path: string, { file }: Origin): string {
  return path === '' ? '' : resolve(dirname(file), path)
}
