#!/bin/sh
printf 'Status: 403 Forbidden\nContent-Type: text/plain\n\nno entry'
