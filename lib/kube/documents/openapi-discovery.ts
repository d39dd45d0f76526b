/** The paths of a server beside those of its resources, for OpenAPI: discovery, the version, and
 *  the keys of service account tokens. */

import { groupVersionText } from '../resources/resource.ts'
import {
  camelCase,
  objectTypes,
  type OpenApiOperation,
  type PathOperations,
  type OpenApiShape,
  titled,
} from './openapi-operations.ts'

interface Asked {
  readonly path: string
  readonly description: string
  readonly id: string
  readonly tag: string
  readonly consumes?: readonly string[]
  readonly produces: readonly string[]
  readonly answer: OpenApiShape
}

/** Discovery of groups is never CBOR. */
const groupTypes = objectTypes.filter(type => type !== 'application/cbor')

function asked({ path, answer, consumes, ...rest }: Asked): PathOperations {
  const operation: OpenApiOperation = {
    ...rest,
    method: 'get',
    query: [],
    consumes: consumes ?? rest.produces,
    answers: { 200: answer },
  }
  return { path, places: {}, operations: [operation] }
}

/** /api/ */
export function corePath(): PathOperations {
  return asked({
    path: '/api/',
    description: 'get available API versions',
    id: 'getCoreAPIVersions',
    tag: 'core',
    produces: groupTypes,
    answer: { of: 'type', type: 'meta/v1.APIVersions' },
  })
}

/** /apis/ */
export function groupsPath(): PathOperations {
  return asked({
    path: '/apis/',
    description: 'get available API versions',
    id: 'getAPIVersions',
    tag: 'apis',
    produces: groupTypes,
    answer: { of: 'type', type: 'meta/v1.APIGroupList' },
  })
}

/** /apis/GROUP/ */
export function groupPath(group: string): PathOperations {
  const tag = camelCase(group.replace(/\.k8s\.io$/, ''))
  return asked({
    path: `/apis/${group}/`,
    description: 'get information of a group',
    id: `get${titled(tag)}APIGroup`,
    tag,
    produces: groupTypes,
    answer: { of: 'type', type: 'meta/v1.APIGroup' },
  })
}

/** /api/v1/, /apis/GROUP/VERSION/ */
export function versionPath(group: string, version: string): PathOperations {
  const name = camelCase(group === '' ? 'core' : group.replace(/\.k8s\.io$/, ''))
  return asked({
    path: `${group === '' ? '/api' : '/apis'}/${groupVersionText(group, version)}/`,
    description: 'get available resources',
    id: `get${titled(name)}${titled(version)}APIResources`,
    tag: `${name}_${version}`,
    produces: objectTypes,
    answer: { of: 'type', type: 'meta/v1.APIResourceList' },
  })
}

/** The paths of the server itself, by the path of their document. */
export const ownPaths: Readonly<Record<string, PathOperations>> = {
  version: asked({
    path: '/version/',
    description: 'get the version information for this server',
    id: 'getCodeVersion',
    tag: 'version',
    produces: ['application/json'],
    answer: { of: 'type', type: 'versioninfo' },
  }),
  '.well-known/openid-configuration': asked({
    path: '/.well-known/openid-configuration/',
    description:
      "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
    id: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: 'WellKnown',
    consumes: [],
    produces: ['application/json'],
    answer: { of: 'text' },
  }),
  'openid/v1/jwks': asked({
    path: '/openid/v1/jwks/',
    description:
      'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
    id: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    consumes: [],
    produces: ['application/jwk-set+json'],
    answer: { of: 'text' },
  }),
}
