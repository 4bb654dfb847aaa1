// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the scened authors

// usage: node validate.js FILE...
//
// Runs the Khronos glTF validator, from the folder node_modules that NODE_PATH names, over files that use nothing
// beside themselves. Prints its errors and warnings; exits 1 if there was an error.

const fs = require('fs');
const validator = require('gltf-validator');

const ERROR = 0;
const WARNING = 1;

async function validate(path) {
        const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(path)), {maxIssues: 100});
        for (const message of report.issues.messages) {
                if (message.severity <= WARNING)
                        console.log(`${path}: ${message.severity === ERROR ? 'error' : 'warning'}: ${message.code} ` +
                                `${message.pointer}: ${message.message}`);
        }
        return report.issues.numErrors;
}

async function main(paths) {
        let errors = 0;
        for (const path of paths)
                errors += await validate(path);
        console.log(`${paths.length} files, ${errors} errors, validator ${validator.version()}`);
        return paths.length > 0 && errors === 0 ? 0 : 1;
}

main(process.argv.slice(2)).then(code => process.exit(code), fault => {
        console.error(fault);
        process.exit(1);
});
